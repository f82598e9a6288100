// An array of fixed size, in memory or in a scratch file (mapped_file.h): whoever reads it does not notice.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/mapped_file.h"

namespace crfkit {

template <class T>
class FlatArray {
 public:
  // Takes room for n numbers, in a file of this directory if there is one. The numbers are not set.
  void resize(size_t n, const std::string& directory = "") {
    if (n == size_) return;
    if (kMapsFiles && !directory.empty() && n > 0) {
      file_ = MappedFile::scratch(directory, n * sizeof(T));
      data_ = static_cast<T*>(file_.data());
    } else {
      own_.reset(new T[n]);
      data_ = own_.get();
    }
    size_ = n;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  std::unique_ptr<T[]> own_;
  MappedFile file_;
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace crfkit
