// linked_list: an intrusive list from whose middle a node can be taken, for one thread or under a lock.
//
// A node type has members `before` and `behind` of type Sync::cell<Node*>. A node is in at most one such list, and the
// list does not own it. Every operation is O(1), and none allocates.
#pragma once

namespace apiary {

template <class Node>
class linked_list {
public:
    bool empty() const { return front_ == nullptr; }
    Node* front() const { return front_; }

    void append(Node* node) {
        node->before.write(back_);
        node->behind.write(nullptr);
        if (back_ == nullptr)
            front_ = node;
        else
            back_->behind.write(node);
        back_ = node;
    }

    // Precondition: the node is in this list.
    void remove(Node* node) {
        Node* const before = node->before.read();
        Node* const behind = node->behind.read();
        if (before == nullptr)
            front_ = behind;
        else
            before->behind.write(behind);
        if (behind == nullptr)
            back_ = before;
        else
            behind->before.write(before);
    }

private:
    Node* front_ = nullptr;
    Node* back_ = nullptr;
};

}  // namespace apiary
