// fifo_list: an intrusive first-in first-out list that one thread owns.
//
// A node type has a member `next` of type Sync::cell<Node*>, or a cell of a pointer to a base of Node. A node is in at
// most one list, and the list does not own it. No operation allocates; splice_back is O(1).
#pragma once

#include <cstddef>
#include <utility>

namespace apiary {

template <class Node>
class fifo_list {
public:
    fifo_list() = default;
    fifo_list(fifo_list&& other) noexcept
        : head_(std::exchange(other.head_, nullptr)),
          tail_(std::exchange(other.tail_, nullptr)),
          size_(std::exchange(other.size_, 0)) {}
    fifo_list& operator=(fifo_list&& other) noexcept {
        head_ = std::exchange(other.head_, nullptr);
        tail_ = std::exchange(other.tail_, nullptr);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    fifo_list(const fifo_list&) = delete;
    fifo_list& operator=(const fifo_list&) = delete;

    bool empty() const { return head_ == nullptr; }
    std::size_t size() const { return size_; }
    Node* front() const { return head_; }
    Node* back() const { return tail_; }

    void push_back(Node* node) {
        node->next.write(nullptr);
        if (tail_ == nullptr)
            head_ = node;
        else
            tail_->next.write(node);
        tail_ = node;
        ++size_;
    }

    void push_front(Node* node) {
        node->next.write(head_);
        head_ = node;
        if (tail_ == nullptr) tail_ = node;
        ++size_;
    }

    // Null if the list is empty.
    Node* pop_front() {
        Node* node = head_;
        if (node == nullptr) return nullptr;
        head_ = static_cast<Node*>(node->next.read());
        if (head_ == nullptr) tail_ = nullptr;
        --size_;
        return node;
    }

    // Appends all nodes of `other`, and leaves it empty.
    void splice_back(fifo_list&& other) {
        if (other.empty()) return;
        if (tail_ == nullptr)
            head_ = other.head_;
        else
            tail_->next.write(other.head_);
        tail_ = other.tail_;
        size_ += other.size_;
        other.head_ = other.tail_ = nullptr;
        other.size_ = 0;
    }

private:
    Node* head_ = nullptr;
    Node* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace apiary
