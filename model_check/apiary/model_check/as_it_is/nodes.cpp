// nodes: the parts of std::map, set and list that a program finds compiled in libstdc++.so, in front of those.
//
// This source is compiled with the instrumentation, so that what they read and write in the nodes is seen as the program's own.
// The layout of the nodes is libstdc++'s. The header of a tree has its root for a parent, and its first and last node on the left
// and on the right; it is red, which tells it from a root.
#include <list>
#include <map>

namespace {

using node = std::_Rb_tree_node_base;

bool is_black(const node* n) { return n == nullptr || n->_M_color == std::_S_black; }
node*& below(node* n, bool left) { return left ? n->_M_left : n->_M_right; }

// `n` takes the place of `old` under the node above that one.
void replace(node* old, node* n, node& header) {
    node* const above = old->_M_parent;
    if (header._M_parent == old)
        header._M_parent = n;
    else
        below(above, above->_M_left == old) = n;
    if (n != nullptr) n->_M_parent = above;
}

// The node goes down on one side, and the one below it on the other side comes up.
void rotate(node* n, bool left, node& header) {
    node* const up = below(n, !left);
    replace(n, up, header);
    node* const inner = below(up, left);
    below(n, !left) = inner;
    if (inner != nullptr) inner->_M_parent = n;
    below(up, left) = n;
    n->_M_parent = up;
}

node* node_behind(node* n) {
    if (n->_M_right != nullptr) {
        n = n->_M_right;
        while (n->_M_left != nullptr) n = n->_M_left;
        return n;
    }
    node* above = n->_M_parent;
    while (n == above->_M_right) {
        n = above;
        above = above->_M_parent;
    }
    return n->_M_right == above ? n : above;  // from a root without a right side the walk ends at the header
}

node* node_before(node* n) {
    if (n->_M_color == std::_S_red && n->_M_parent->_M_parent == n) return n->_M_right;  // of the header
    if (n->_M_left != nullptr) {
        n = n->_M_left;
        while (n->_M_right != nullptr) n = n->_M_right;
        return n;
    }
    node* above = n->_M_parent;
    while (n == above->_M_left) {
        n = above;
        above = above->_M_parent;
    }
    return above;
}

// A black node is missing above `n`, which may be null, on its side of `above`.
void rebalance(node* n, node* above, node& header) {
    while (n != header._M_parent && is_black(n)) {
        const bool left = n == above->_M_left;
        node* other = below(above, !left);
        if (!is_black(other)) {
            other->_M_color = std::_S_black;
            above->_M_color = std::_S_red;
            rotate(above, left, header);
            other = below(above, !left);
        }
        if (is_black(other->_M_left) && is_black(other->_M_right)) {
            other->_M_color = std::_S_red;
            n = above;
            above = above->_M_parent;
            continue;
        }
        if (is_black(below(other, !left))) {
            below(other, left)->_M_color = std::_S_black;
            other->_M_color = std::_S_red;
            rotate(other, !left, header);
            other = below(above, !left);
        }
        other->_M_color = above->_M_color;
        above->_M_color = std::_S_black;
        below(other, !left)->_M_color = std::_S_black;
        rotate(above, left, header);
        break;
    }
    if (n != nullptr) n->_M_color = std::_S_black;
}

}  // namespace

namespace std {

_Rb_tree_node_base* _Rb_tree_increment(_Rb_tree_node_base* n) noexcept { return node_behind(n); }
const _Rb_tree_node_base* _Rb_tree_increment(const _Rb_tree_node_base* n) noexcept {
    return node_behind(const_cast<node*>(n));
}
_Rb_tree_node_base* _Rb_tree_decrement(_Rb_tree_node_base* n) noexcept { return node_before(n); }
const _Rb_tree_node_base* _Rb_tree_decrement(const _Rb_tree_node_base* n) noexcept {
    return node_before(const_cast<node*>(n));
}

void _Rb_tree_insert_and_rebalance(const bool left, _Rb_tree_node_base* n, _Rb_tree_node_base* above,
                                   _Rb_tree_node_base& header) noexcept {
    n->_M_parent = above;
    n->_M_left = n->_M_right = nullptr;
    n->_M_color = _S_red;
    if (above == &header) {
        header._M_parent = header._M_left = header._M_right = n;
    } else {
        below(above, left) = n;
        node*& end = below(&header, left);
        if (end == above) end = n;
    }
    while (n != header._M_parent && n->_M_parent->_M_color == _S_red) {
        above = n->_M_parent;
        node* const top = above->_M_parent;
        const bool is_left = above == top->_M_left;
        node* const beside = below(top, !is_left);
        if (!is_black(beside)) {
            above->_M_color = beside->_M_color = _S_black;
            top->_M_color = _S_red;
            n = top;
            continue;
        }
        if (n == below(above, !is_left)) {
            rotate(above, is_left, header);
            n = above;
            above = n->_M_parent;
        }
        above->_M_color = _S_black;
        top->_M_color = _S_red;
        rotate(top, !is_left, header);
    }
    header._M_parent->_M_color = _S_black;
}

_Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base* const gone, _Rb_tree_node_base& header) noexcept {
    if (header._M_left == gone) header._M_left = node_behind(gone);
    if (header._M_right == gone) header._M_right = header._M_left == &header ? &header : node_before(gone);
    if (gone->_M_left == nullptr || gone->_M_right == nullptr) {
        node* const n = gone->_M_left != nullptr ? gone->_M_left : gone->_M_right;
        node* const above = gone->_M_parent;
        replace(gone, n, header);
        if (gone->_M_color == _S_black) rebalance(n, above, header);
        return gone;
    }
    // Its successor takes its place and its colour.
    node* const heir = node_behind(gone);
    node* const n = heir->_M_right;
    node* above = heir;
    if (heir->_M_parent != gone) {
        above = heir->_M_parent;
        replace(heir, n, header);
        heir->_M_right = gone->_M_right;
        heir->_M_right->_M_parent = heir;
    }
    replace(gone, heir, header);
    heir->_M_left = gone->_M_left;
    heir->_M_left->_M_parent = heir;
    const bool was_black = heir->_M_color == _S_black;
    heir->_M_color = gone->_M_color;
    if (was_black) rebalance(n, above, header);
    return gone;
}

namespace __detail {

void _List_node_base::_M_hook(_List_node_base* const behind) noexcept {
    _M_next = behind;
    _M_prev = behind->_M_prev;
    behind->_M_prev->_M_next = this;
    behind->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
    _M_prev->_M_next = _M_next;
    _M_next->_M_prev = _M_prev;
}

// What stands from `first` on and in front of `last` goes in front of this one.
void _List_node_base::_M_transfer(_List_node_base* const first, _List_node_base* const last) noexcept {
    if (this == last || first == last) return;
    _List_node_base* const end = last->_M_prev;
    first->_M_prev->_M_next = last;
    last->_M_prev = first->_M_prev;
    first->_M_prev = _M_prev;
    end->_M_next = this;
    _M_prev->_M_next = first;
    _M_prev = end;
}

void _List_node_base::_M_reverse() noexcept {
    _List_node_base* n = this;
    do {
        _List_node_base* const was_next = n->_M_next;
        n->_M_next = n->_M_prev;
        n->_M_prev = was_next;
        n = was_next;
    } while (n != this);
}

// A header of an empty list points to itself, and so it does after the exchange.
void _List_node_base::swap(_List_node_base& x, _List_node_base& y) noexcept {
    const auto take = [](_List_node_base& header, const _List_node_base& from, const _List_node_base* was) {
        header = from;
        if (from._M_next == was) header._M_next = header._M_prev = &header;
        header._M_next->_M_prev = header._M_prev->_M_next = &header;
    };
    const _List_node_base of_x = x, of_y = y;
    take(x, of_y, &y);
    take(y, of_x, &x);
}

}  // namespace __detail
}  // namespace std
