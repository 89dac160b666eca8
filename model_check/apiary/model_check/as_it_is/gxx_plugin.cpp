// A plug-in of g++: what -fsanitize=thread leaves unseen in code that is checked as it is.
//
// Classes by value. Assignments are instrumented, and no operand of a call. So the read of `shared` in sum(shared) would not be
// seen, nor the write in shared = make(). Just before that pass each such operand becomes an assignment:
//
//     sum(shared)        local = shared;    sum(local)
//     shared = make()    local = make();    shared = local
//
// The language allows that copy: only a class whose copies are trivial is handed so; any other goes by reference, and its
// constructors are instrumented. Passes behind may take the local out again; the instrumentation stays.
//
// Ends of objects. Where an object's bytes hold nothing any more, after its destructor or at the end of its scope, g++ has a
// mark, a clobber. There the runtime is told: all other uses come before. Not of more than 4 KiB.
//
// Reads whose value nobody uses. g++ would take them out before it instruments: `if (q.try_pop(v)) ++n;` reads no value. Before
// anything is optimised each read gets an empty assembly statement that uses what was read, and just before the instrumentation
// these go again. For a pointer the statement uses a comparison only, so that the object behind it may stay in registers.
//
// Pointers to members. g++ marks their two fields as having no address, and such fields are not instrumented: the mark goes.
//
// Refused, where the program is not built with ALLOW_ASSEMBLY: assembly and intrinsics that may use memory, and a function that is
// kept from the instrumentation. Locked instructions and fences are found in the object (apiary_look_for_assembly.cmake).
//
// Built by apiary_as_it_is.cmake with the very g++ that it is for, against that one's headers. Tested by
// model_check/as_it_is/by_value.cpp and newcomer_test.py.

// These headers need those before them.
// clang-format off
#include <gcc-plugin.h>
#include <plugin-version.h>
#include <tree.h>
#include <ggc.h>
#include <gimple.h>
#include <tree-pass.h>
#include <ssa.h>
#include <context.h>
#include <stringpool.h>
#include <attribs.h>
#include <asan.h>
#include <diagnostic-core.h>
#include <gimple-expr.h>
#include <gimple-iterator.h>
#include <gimple-walk.h>
#include <gimplify.h>
#include <gimplify-me.h>
#include <tree-cfg.h>
// clang-format on

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>

int plugin_is_GPL_compatible;  // g++ asks for this name

namespace {

// ---- classes by value

bool is_class_in_memory(tree operand) {
    if (operand == NULL_TREE || is_gimple_reg(operand) || is_gimple_min_invariant(operand)) return false;
    tree type = TREE_TYPE(operand);
    return AGGREGATE_TYPE_P(type) && !TREE_ADDRESSABLE(type) && !TYPE_EMPTY_P(type) && int_size_in_bytes(type) > 0;
}

// A local variable whose address is not taken is no other thread's.
bool may_be_shared(tree operand) {
    if (is_gimple_reg(operand) || is_gimple_min_invariant(operand)) return false;
    tree base = get_base_address(operand);
    return base == NULL_TREE || !DECL_P(base) || is_global_var(base) || TREE_ADDRESSABLE(base);
}

// Without the padding at its end, where members of a derived class may lie.
HOST_WIDE_INT bytes_of_members(tree type) {
    if (TREE_CODE(type) != RECORD_TYPE) return int_size_in_bytes(type);
    HOST_WIDE_INT end = 0;
    for (tree field = TYPE_FIELDS(type); field != NULL_TREE; field = DECL_CHAIN(field))
        if (TREE_CODE(field) == FIELD_DECL && DECL_SIZE(field) != NULL_TREE && tree_fits_uhwi_p(DECL_SIZE(field)))
            end = std::max<HOST_WIDE_INT>(end, (int_bit_position(field) + tree_to_uhwi(DECL_SIZE(field)) + 7) / 8);
    return end;
}

tree bytes_at(tree object, tree bytes) {
    if (tree base = get_base_address(object); DECL_P(base)) TREE_ADDRESSABLE(base) = 1;
    return fold_build2(MEM_REF, bytes, build_fold_addr_expr(object),
                       build_int_cst(build_pointer_type(char_type_node), 0));
}

gassign* assignment(tree to, tree from, gcall* call) {
    tree type = TREE_TYPE(from);
    const HOST_WIDE_INT members = bytes_of_members(type);
    if (members != 0 && members < int_size_in_bytes(type)) {
        tree bytes = build_array_type_nelts(char_type_node, members);
        to = bytes_at(to, bytes), from = bytes_at(from, bytes);
    }
    gassign* made = gimple_build_assign(to, from);
    gimple_set_location(made, gimple_location(call));
    return made;
}

// Each call has locals of its own, which end after it: so they share the stack.
bool reads_into_locals(gimple_stmt_iterator* at, gcall* call) {
    bool changed = false;
    for (unsigned i = 0; i != gimple_call_num_args(call); ++i) {
        tree operand = gimple_call_arg(call, i);
        if (!is_class_in_memory(operand) || !may_be_shared(operand)) continue;
        tree local = create_tmp_var(TREE_TYPE(operand));
        gsi_insert_before(at, assignment(local, unshare_expr(operand), call), GSI_SAME_STMT);
        gimple_call_set_arg(call, i, local);
        if (!stmt_ends_bb_p(call))
            gsi_insert_after(at, gimple_build_assign(local, build_clobber(TREE_TYPE(local))), GSI_SAME_STMT);
        changed = true;
    }
    return changed;
}

// Where the call may throw it ends its block, and the assignment follows where it has not.
bool writes_from_a_local(gimple_stmt_iterator* at, gcall* call) {
    tree target = gimple_call_lhs(call);
    if (!is_class_in_memory(target) || !may_be_shared(target)) return false;
    edge returned = stmt_ends_bb_p(call) ? find_fallthru_edge(gimple_bb(call)->succs) : nullptr;
    if (stmt_ends_bb_p(call) && returned == nullptr) return false;
    tree local = create_tmp_var(TREE_TYPE(target));
    gassign* copy = assignment(target, local, call);
    gimple_call_set_lhs(call, local);
    gimple_call_set_return_slot_opt(call, false);
    if (returned != nullptr)
        gsi_insert_on_edge(returned, copy);
    else
        gsi_insert_after(at, copy, GSI_NEW_STMT);
    return true;
}

// ---- reads whose value nobody uses

// The name of the operand tells these statements from the program's own.
constexpr const char* keeper = "apiary_keeps";

bool is_keeper(const gimple* statement) {
    const auto* const assembly = dyn_cast<const gasm*>(statement);
    if (assembly == nullptr || gimple_asm_ninputs(assembly) != 1) return false;
    tree name = TREE_PURPOSE(TREE_PURPOSE(gimple_asm_input_op(assembly, 0)));
    return name != NULL_TREE && std::strcmp(TREE_STRING_POINTER(name), keeper) == 0;
}

void use_behind(gimple_stmt_iterator* at, tree value, const char* constraint) {
    const auto text = [](const char* s) { return build_string(std::strlen(s) + 1, s); };
    vec<tree, va_gc>* inputs = nullptr;
    vec_safe_push(inputs, build_tree_list(build_tree_list(text(keeper), text(constraint)), value));
    gasm* use = gimple_build_asm_vec("", inputs, nullptr, nullptr, nullptr);
    gimple_asm_set_volatile(use, true);
    gimple_set_location(use, gimple_location(gsi_stmt(*at)));
    suppress_warning(use);  // what is copied may be uninitialised
    gsi_insert_after(at, use, GSI_NEW_STMT);
}

// A read of a class is kept by what it writes, which stays in memory.
bool keeps_a_read(gimple_stmt_iterator* at) {
    const auto* const assigns = dyn_cast<const gassign*>(gsi_stmt(*at));
    if (assigns == nullptr || !gimple_assign_single_p(assigns) || gimple_clobber_p(assigns) ||
        gimple_vuse(assigns) == NULL_TREE || gimple_has_volatile_ops(assigns) || stmt_ends_bb_p(gsi_stmt(*at)))
        return false;
    tree to = gimple_assign_lhs(assigns), from = gimple_assign_rhs1(assigns), type = TREE_TYPE(to);
    if (is_gimple_reg(from) || is_gimple_min_invariant(from) || TREE_CODE(from) == CONSTRUCTOR || !may_be_shared(from))
        return false;
    if (!is_gimple_reg(to)) {
        if (!is_class_in_memory(from)) return false;
        use_behind(at, unshare_expr(to), "m");
    } else if (INTEGRAL_TYPE_P(type) || TREE_CODE(type) == OFFSET_TYPE) {
        use_behind(at, to, "r");
    } else if (POINTER_TYPE_P(type) || SCALAR_FLOAT_TYPE_P(type)) {
        tree differs = make_ssa_name(boolean_type_node);
        gsi_insert_after(at, gimple_build_assign(differs, NE_EXPR, to, build_zero_cst(type)), GSI_NEW_STMT);
        use_behind(at, differs, "r");
    } else {
        return false;
    }
    return true;
}

// ---- pointers to members

void fields_have_addresses(const gassign* assigns) {
    for (unsigned i = 0; i != gimple_num_ops(assigns); ++i)
        for (tree part = gimple_op(assigns, i); part != NULL_TREE && handled_component_p(part);
             part = TREE_OPERAND(part, 0))
            if (TREE_CODE(part) == COMPONENT_REF && !DECL_BIT_FIELD_TYPE(TREE_OPERAND(part, 1)))
                DECL_NONADDRESSABLE_P(TREE_OPERAND(part, 1)) = 0;
}

// ---- ends of objects

tree object_ends = NULL_TREE;  // the runtime's function
const ggc_root_tab roots[] = {{&object_ends, 1, sizeof(tree), &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node},
                              LAST_GGC_ROOT_TAB};
constexpr HOST_WIDE_INT largest_object = 4096;

// The innermost function that a statement is of: others may be inlined in one.
tree function_of(const gimple* statement) {
    for (tree block = gimple_block(statement); block != NULL_TREE && TREE_CODE(block) == BLOCK;
         block = BLOCK_SUPERCONTEXT(block))
        if (inlined_function_outer_scope_p(block)) return block_ultimate_origin(block);
    return current_function_decl;
}

// The locals whose addresses go anywhere but to an atomic operation on them: the others are nobody else's.
using locals = hash_set<tree>;
bool address_goes(gimple* statement, tree operand, tree argument, void* to) {
    tree base = get_base_address(operand);
    if (base == NULL_TREE || !DECL_P(base)) return false;
    if (gimple_call_builtin_p(statement, BUILT_IN_NORMAL)) {
        const char* name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(statement)));
        const bool exchanges = std::strncmp(name, "__atomic_compare_exchange", 25) == 0;
        if (std::strncmp(name, "__atomic_", 9) == 0 &&
            (argument == gimple_call_arg(statement, 0) || (exchanges && argument == gimple_call_arg(statement, 1))))
            return false;
    }
    static_cast<locals*>(to)->add(base);
    return false;
}
void find_those_that_go(function* f, locals* found) {
    basic_block bb;
    FOR_EACH_BB_FN(bb, f) {
        for (gphi_iterator at = gsi_start_phis(bb); !gsi_end_p(at); gsi_next(&at))
            walk_stmt_load_store_addr_ops(at.phi(), found, nullptr, nullptr, address_goes);
        for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at))
            walk_stmt_load_store_addr_ops(gsi_stmt(at), found, nullptr, nullptr, address_goes);
    }
}

// In front of a constructor's work stands the same mark as after a destructor's.
bool tells_an_end(gimple_stmt_iterator* at, locals* gone) {
    gimple* const clobber = gsi_stmt(*at);
    if (!gimple_clobber_p(clobber)) return false;
    if (CLOBBER_KIND(gimple_assign_rhs1(clobber)) != CLOBBER_EOL) {
        tree function = function_of(clobber);
        if (TREE_CODE(function) != FUNCTION_DECL || !DECL_CXX_DESTRUCTOR_P(function)) return false;
    }
    tree object = gimple_assign_lhs(clobber);
    const HOST_WIDE_INT bytes = int_size_in_bytes(TREE_TYPE(object));
    if (bytes <= 0 || bytes > largest_object || TYPE_EMPTY_P(TREE_TYPE(object)) || !may_be_shared(object)) return false;
    if (tree base = get_base_address(object);
        base != NULL_TREE && DECL_P(base) && !is_global_var(base) && !gone->contains(base))
        return false;
    if (object_ends == NULL_TREE) {
        tree type = build_function_type_list(void_type_node, ptr_type_node, size_type_node, NULL_TREE);
        object_ends = build_fn_decl("apiary_object_ends", type);
        TREE_NOTHROW(object_ends) = 1;
    }
    tree address =
        force_gimple_operand_gsi(at, build_fold_addr_expr(unshare_expr(object)), true, NULL_TREE, true, GSI_SAME_STMT);
    gcall* call = gimple_build_call(object_ends, 2, address, build_int_cst(size_type_node, bytes));
    gimple_set_location(call, gimple_location(clobber));
    gsi_insert_before(at, call, GSI_SAME_STMT);
    return true;
}

// ---- refusals

bool uses_memory(const gasm* assembly) {
    // Also of an empty one: g++ itself stores what comes out of a register.
    for (unsigned i = 0; i != gimple_asm_noutputs(assembly); ++i)
        if (may_be_shared(TREE_VALUE(gimple_asm_output_op(assembly, i)))) return true;
    std::string text = gimple_asm_string(assembly);
    const auto between = [](unsigned char c) { return std::isspace(c) != 0 || c == ';'; };
    text.erase(std::remove_if(text.begin(), text.end(), between), text.end());
    for (const char* harmless : {"", "pause", "nop", "repnop"})
        if (text == harmless) return false;
    for (unsigned i = 0; i != gimple_asm_ninputs(assembly); ++i)
        if (may_be_shared(TREE_VALUE(gimple_asm_input_op(assembly, i)))) return true;
    for (unsigned i = 0; i != gimple_asm_nclobbers(assembly); ++i)
        if (std::strcmp(TREE_STRING_POINTER(TREE_VALUE(gimple_asm_clobber_op(assembly, i))), "memory") == 0)
            return true;
    return false;
}

bool uses_memory(const gcall* call) {
    if (!gimple_call_builtin_p(call, BUILT_IN_MD) || gimple_vuse(call) == NULL_TREE) return false;
    for (unsigned i = 0; i != gimple_call_num_args(call); ++i)
        if (POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i)))) return true;
    return false;
}

bool allows_assembly = false;

void refuse(location_t where, const char* what) {
    if (allows_assembly) return;
    const char* remedy =
        "%s, and would not be seen. Remedy: without it; or %<ALLOW_ASSEMBLY%> in %<apiary_check_as_is%>, "
        "and each verdict says so";
    error_at(where, (std::string("refused: ") + remedy).c_str(), what);
}

// ---- the pass

const pass_data about = {GIMPLE_PASS, "apiary_gxx_plugin", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};

class before_the_instrumentation : public gimple_opt_pass {
public:
    explicit before_the_instrumentation(bool optimised) : gimple_opt_pass(about, g), optimised_(optimised) {}
    opt_pass* clone() final { return new before_the_instrumentation(optimised_); }
    bool gate(function*) final { return (flag_sanitize & SANITIZE_THREAD) != 0 && (optimize != 0) == optimised_; }
    unsigned execute(function* f) final {
        if (!sanitize_flags_p(SANITIZE_THREAD, f->decl))
            refuse(DECL_SOURCE_LOCATION(f->decl), "this function is kept from the instrumentation");
        bool changed = drop_the_keepers(f);
        locals gone;
        find_those_that_go(f, &gone);
        basic_block bb;
        FOR_EACH_BB_FN(bb, f)
        for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at)) changed |= visit(&at, &gone);
        if (!changed) return 0;
        gsi_commit_edge_inserts();
        return TODO_update_ssa_only_virtuals;
    }

private:
    static bool drop_the_keepers(function* f) {
        bool changed = false;
        basic_block bb;
        FOR_EACH_BB_FN(bb, f)
        for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at);)
            if (is_keeper(gsi_stmt(at)))
                gsi_remove(&at, true), changed = true;
            else
                gsi_next(&at);
        return changed;
    }
    static bool visit(gimple_stmt_iterator* at, locals* gone) {
        gimple* const statement = gsi_stmt(*at);
        if (const gassign* assigns = dyn_cast<gassign*>(statement)) fields_have_addresses(assigns);
        if (const gasm* assembly = dyn_cast<gasm*>(statement); assembly != nullptr && uses_memory(assembly))
            refuse(gimple_location(statement), "this assembly may use memory");
        if (tells_an_end(at, gone)) return true;
        gcall* const call = dyn_cast<gcall*>(statement);
        if (call == nullptr || gimple_call_internal_p(call)) return false;
        if (uses_memory(call)) refuse(gimple_location(statement), "this intrinsic uses memory");
        const bool reads = reads_into_locals(at, call), writes = writes_from_a_local(at, call);
        if (reads || writes) update_stmt(call);
        return reads || writes;
    }

    const bool optimised_;
};

const pass_data about_keeping = {
    GIMPLE_PASS, "apiary_keeps_reads", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

class before_all_optimisations : public gimple_opt_pass {
public:
    before_all_optimisations() : gimple_opt_pass(about_keeping, g) {}
    bool gate(function*) final { return (flag_sanitize & SANITIZE_THREAD) != 0 && optimize != 0; }
    unsigned execute(function* f) final {
        bool changed = false;
        basic_block bb;
        FOR_EACH_BB_FN(bb, f)
        for (gimple_stmt_iterator at = gsi_start_bb(bb); !gsi_end_p(at); gsi_next(&at)) changed |= keeps_a_read(&at);
        return changed ? TODO_update_ssa_only_virtuals : 0;
    }
};

void comes_after_ssa(const char* plugin) {
    register_pass_info info{};
    info.pass = new before_all_optimisations;
    info.reference_pass_name = "ssa";
    info.ref_pass_instance_number = 1;
    info.pos_op = PASS_POS_INSERT_AFTER;
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

// Every instance of that pass: -Og has one of its own.
void comes_before(const char* pass, bool optimised, const char* plugin) {
    register_pass_info info{};
    info.pass = new before_the_instrumentation(optimised);
    info.reference_pass_name = pass;
    info.ref_pass_instance_number = 0;
    info.pos_op = PASS_POS_INSERT_BEFORE;
    register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

}  // namespace

// Not 0: g++ is another one than these headers', and gives up.
int plugin_init(plugin_name_args* arguments, plugin_gcc_version* version) {
    if (!plugin_default_version_check(version, &gcc_version)) return 1;
    for (int i = 0; i != arguments->argc; ++i)
        allows_assembly = allows_assembly || std::strcmp(arguments->argv[i].key, "allow_assembly") == 0;
    register_callback(arguments->base_name, PLUGIN_REGISTER_GGC_ROOTS, nullptr, const_cast<ggc_root_tab*>(roots));
    comes_after_ssa(arguments->base_name);
    comes_before("tsan", true, arguments->base_name);
    comes_before("tsan0", false, arguments->base_name);  // -O0
    return 0;
}
