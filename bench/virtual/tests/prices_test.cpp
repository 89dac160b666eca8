// Profiles: what is read, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <apiary/virtual/prices.hpp>

namespace apiary::virt::test::prices_test {

std::string whole() {
    std::string s = "# a profile\n";
    for (const price_name& n : price_names())
        s += std::string(n.name) + (n.most < 2 ? " = 1" : " = 2.5") + "  # " + std::string(n.unit) + "\n";
    return s;
}
std::string told(const std::string& text) {
    try {
        (void)parse_profile(text, "p");
    } catch (const profile_error& e) {
        return e.what();
    }
    return "it was read";
}
std::string with(const std::string& line) {
    std::string s = whole();
    const std::string name = line.substr(0, line.find(' '));
    const auto at = s.find("\n" + name + " =") + 1;
    return s.replace(at, s.find('\n', at) - at, line);
}
void expect_refused(const std::string& text, std::initializer_list<const char*> parts) {
    const std::string said = told(text);
    for (const char* part : parts) EXPECT_NE(said.find(part), std::string::npos) << part << " is not in:\n" << said;
    EXPECT_NE(said.find("\n  cause:"), std::string::npos) << said;
    EXPECT_NE(said.find("\n  remedy:"), std::string::npos) << said;
}

TEST(VirtualPrices, AProfileIsReadInNanoseconds) {
    const prices p = parse_profile(with("transfer = 80.25"), "p");
    EXPECT_EQ(p.transfer, 80'250);
    EXPECT_EQ(p.hit, 2500);
    EXPECT_EQ(p.cluster, 3);  // a count is rounded
}

TEST(VirtualPrices, EachHoleIsNamed) {
    for (const price_name& n : price_names()) {
        std::string s = whole();
        const auto at = s.find("\n" + std::string(n.name) + " =") + 1;
        s.erase(at, s.find('\n', at) - at);
        expect_refused(s, {("p: no line for " + std::string(n.name)).c_str()});
    }
    expect_refused("", {"p: no line for cluster"});
}

TEST(VirtualPrices, WhatIsNoPriceIsRefusedWithItsLine) {
    expect_refused(with("transfer = -1"), {"p:6: \"transfer = -1\"", "outside of 0 to 1000000000 ns"});
    expect_refused(with("transfer = 2e9"), {"outside of"});
    expect_refused(with("cluster = 0"), {"outside of 1 to 1024 processors"});
    expect_refused(with("request_permille = 1001"), {"outside of 0 to 1000 permille"});
    for (const char* bad : {"", "fast", "80 ns", "nan", "inf", "1e999"})
        expect_refused(with("transfer = " + std::string(bad)), {"this is no number"});
    expect_refused(whole() + "transfer 80\n", {"a line of a profile is"});
    expect_refused(whole() + "tranfer = 80\n", {"there is no price of that name", "far_transfer"});
    expect_refused(whole() + "transfer = 80\n", {"an earlier line names that price"});
}

TEST(VirtualPrices, AFileThatIsNotThereIsRefused) {
    EXPECT_THROW((void)read_profile("/nowhere/at/all.profile"), profile_error);
}

TEST(VirtualPrices, TheProfilesOfTheTreeAreWhole) {
    for (const char* name : {"flat", "desktop_8", "xeon_16", "server_64", "two_sockets_128"})
        EXPECT_GT(read_profile(std::filesystem::path(APIARY_VIRTUAL_PROFILES) / (name + std::string(".profile"))).transfer, 0) << name;
}

TEST(VirtualPrices, OnePriceCanBeChanged) {
    prices p = parse_profile(whole(), "p");
    change_price(p, "transfer=120");
    EXPECT_EQ(p.transfer, 120'000);
    EXPECT_THROW(change_price(p, "transfer=-120"), profile_error);
    EXPECT_THROW(change_price(p, "transfer"), profile_error);
}

}  // namespace apiary::virt::test::prices_test
