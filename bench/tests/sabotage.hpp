// Which of the spoilt subjects a program is: sabotage_kind.cpp, compiled once for each, tells it to sabotage_subject.cpp.
#pragma once

#include <string_view>

enum class sabotage { skip, twice, sleep, shift, within };
extern const sabotage kind;
extern const std::string_view kind_name;
