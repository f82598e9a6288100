// An array that grows by realloc (which on most systems moves pages instead of copying) and can hand over its
// memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace crfkit {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
class GrowableArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowableArray() = default;
  GrowableArray(GrowableArray&& other) noexcept { swap(other); }
  GrowableArray& operator=(GrowableArray&& other) noexcept {
    swap(other);
    return *this;
  }

  size_t size() const { return size_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

  void push_back(T value) {
    if (size_ == capacity_) reallocate(capacity_ < 16 ? 32 : capacity_ * 2);
    data_.get()[size_++] = value;
  }

  // Makes room for n more entries, which the caller fills.
  T* extend(size_t n) {
    if (n > capacity_ - size_) reallocate(size_ + n);
    size_ += n;
    return data_.get() + (size_ - n);
  }

  void shrink(size_t size) { size_ = size; }

  // Hands the memory, cut to size, to the caller; the array is empty afterwards.
  std::unique_ptr<T, FreeMemory> release() {
    reallocate(size_ == 0 ? 1 : size_);
    size_ = capacity_ = 0;
    return std::move(data_);
  }

 private:
  void swap(GrowableArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  void reallocate(size_t capacity) {
    void* moved = std::realloc(data_.get(), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<T*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<T, FreeMemory> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace crfkit
