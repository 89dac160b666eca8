// static_data: the segments of the program, and the symbols in its file.
#include <apiary/virtual/static_data.hpp>

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include <apiary/virtual/machine.hpp>

namespace apiary::virt {

namespace {

// Beyond the arena and the stacks. Nothing lies there: these only number lines.
constexpr std::uintptr_t first_canonical = 0x3000'0000'0000;

// `n` objects at that offset of a file; none where it ends before.
template <class T>
host_vector<T> read(std::ifstream& file, std::uint64_t offset, std::size_t n) {
    host_vector<T> all(n);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(n * sizeof(T)));
    if (!file) all.clear();
    return all;
}

}  // namespace

static_data::static_data() {
    dl_phdr_info program{};
    const auto first = [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<dl_phdr_info*>(to) = *info;
        return 1;
    };
    (void)::dl_iterate_phdr(first, &program);
    for (std::size_t i = 0; i != program.dlpi_phnum; ++i) {
        const ElfW(Phdr)& h = program.dlpi_phdr[i];
        const std::uintptr_t begin = program.dlpi_addr + h.p_vaddr;
        if (h.p_type == PT_GNU_RELRO) {
            fixed_begin_ = begin;
            fixed_bytes_ = h.p_memsz;
        } else if (h.p_type == PT_LOAD && (h.p_flags & PF_W) != 0) {
            if (bytes_ == 0) begin_ = begin;
            bytes_ = begin + h.p_memsz - begin_;
        }
    }
    read_symbols(program.dlpi_addr);
}

void static_data::read_symbols(std::uintptr_t moved_by) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const auto head = read<ElfW(Ehdr)>(file, 0, 1);
    if (head.empty()) return;
    const auto sections = read<ElfW(Shdr)>(file, head[0].e_shoff, head[0].e_shnum);
    host_vector<object> all;
    for (const ElfW(Shdr)& s : sections) {
        if (s.sh_type != SHT_SYMTAB) continue;
        const ElfW(Shdr)& strings = sections.at(s.sh_link);
        auto names = read<char>(file, strings.sh_offset, strings.sh_size);
        names.push_back('\0');
        for (const ElfW(Sym)& symbol : read<ElfW(Sym)>(file, s.sh_offset, s.sh_size / sizeof(ElfW(Sym)))) {
            const std::uintptr_t begin = moved_by + symbol.st_value;
            const bool is_object = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size != 0;
            if (is_object && canonical(begin) != 0) all.push_back({begin, symbol.st_size, &names.at(symbol.st_name)});
        }
    }
    std::sort(all.begin(), all.end(), [](const object& a, const object& b) {
        return std::tie(a.begin, b.bytes, a.symbol) < std::tie(b.begin, a.bytes, b.symbol);
    });
    std::uintptr_t end = 0, next = first_canonical;
    for (object& o : all) {
        if (o.begin < end) continue;  // another name of the same
        end = o.begin + o.bytes;
        o.canonical = std::exchange(next, next + (o.bytes + arena::line - 1) / arena::line * arena::line);
        objects_.push_back(std::move(o));
    }
}

std::uintptr_t static_data::canonical_within(std::uintptr_t address) const {
    if (address - fixed_begin_ < fixed_bytes_) return 0;
    const auto after = std::upper_bound(objects_.begin(), objects_.end(), address,
                                        [](std::uintptr_t a, const object& o) { return a < o.begin; });
    if (after == objects_.begin()) return address;
    const object& o = *std::prev(after);
    return address - o.begin < o.bytes ? o.canonical + (address - o.begin) : address;
}

arena::inside static_data::find(std::uintptr_t canonical) {
    const auto after = std::upper_bound(objects_.begin(), objects_.end(), canonical,
                                        [](std::uintptr_t c, const object& o) { return c < o.canonical; });
    if (after == objects_.begin()) return {};
    object& o = *std::prev(after);
    if (canonical - o.canonical >= o.bytes) return {};
    if (o.what == 0) {
        const host_section tables;
        o.what = intern(short_name(o.symbol));
    }
    return {o.what, canonical - o.canonical};
}

std::string short_name(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> whole(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
    std::string name;
    int depth = 0;
    for (const char c : std::string_view(status == 0 ? whole.get() : symbol.c_str())) {
        if (c == '>') --depth;
        else if (c == '<') ++depth;
        else if (depth == 0) name += c;
    }
    for (const std::string_view dropped : {"apiary::", "virt::", "(anonymous namespace)::"})
        for (std::size_t at = 0; (at = name.find(dropped)) != std::string::npos;) name.erase(at, dropped.size());
    return name;
}

}  // namespace apiary::virt
