// Files mapped into memory, for arrays that may be larger than memory: the system reads pages when they are
// used and drops them when it needs room.
//
// Long loops say which pages they have passed (`let_go`), so that even the resident memory of the process
// stays small. This is safe for every address: pages are let go only if they belong to a mapping made here,
// where nothing is lost.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace crfkit {

#ifdef _WIN32
constexpr bool kMapsFiles = false;
#else
constexpr bool kMapsFiles = true;
#endif

namespace mapped_detail {

// The mappings of this process: their first byte and length.
struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, size_t> ranges;

  static Registry& only() {
    static Registry registry;
    return registry;
  }
};

}  // namespace mapped_detail

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile() { close(); }

  // Maps a whole file for reading. Throws std::system_error.
  static MappedFile reading(const std::string& path) {
    MappedFile out;
#ifndef _WIN32
    out.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (out.descriptor_ < 0 || ::fstat(out.descriptor_, &status) != 0) out.fail(path);
    out.map(static_cast<size_t>(status.st_size), PROT_READ, path);
#endif
    return out;
  }

  // Maps a new file of this size in a directory, for reading and writing. It has no name, so that nothing is
  // left of it when the process ends, however it ends. Room on the disk is taken at once: a full disk is an
  // error here and not later.
  static MappedFile scratch(const std::string& directory, size_t bytes) {
    MappedFile out;
#ifndef _WIN32
    std::string name = directory + "/.crfkit-scratch-XXXXXX";
    out.descriptor_ = ::mkstemp(name.data());
    if (out.descriptor_ < 0) out.fail(directory);
    ::unlink(name.c_str());
    ::fcntl(out.descriptor_, F_SETFD, FD_CLOEXEC);
#ifdef __linux__
    const int error = ::posix_fallocate(out.descriptor_, 0, static_cast<off_t>(bytes));
    if (error != 0) {
      errno = error;
      out.fail(directory);
    }
#else
    if (::ftruncate(out.descriptor_, static_cast<off_t>(bytes)) != 0) out.fail(directory);
#endif
    out.map(bytes, PROT_READ | PROT_WRITE, directory);
#endif
    return out;
  }

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(descriptor_, other.descriptor_);
  }
#ifdef _WIN32
  void close() {}
#else
  [[noreturn]] void fail(const std::string& path) const {
    throw std::system_error(errno, std::generic_category(), path);
  }
  void map(size_t bytes, int access, const std::string& path) {
    if (bytes == 0) return;
    void* at = ::mmap(nullptr, bytes, access, MAP_SHARED, descriptor_, 0);
    if (at == MAP_FAILED) fail(path);
    data_ = at;
    size_ = bytes;
    ::madvise(at, bytes, MADV_SEQUENTIAL);
    auto& registry = mapped_detail::Registry::only();
    const std::lock_guard<std::mutex> lock(registry.mutex);
    registry.ranges[reinterpret_cast<uintptr_t>(at)] = bytes;
  }
  void close() {
    if (data_) {
      auto& registry = mapped_detail::Registry::only();
      const std::lock_guard<std::mutex> lock(registry.mutex);
      registry.ranges.erase(reinterpret_cast<uintptr_t>(data_));
      ::munmap(data_, size_);
    }
    if (descriptor_ >= 0) ::close(descriptor_);
  }
#endif

  void* data_ = nullptr;
  size_t size_ = 0;
  int descriptor_ = -1;
};

namespace mapped_detail {

// Gives advice on the pages of p[0 .. n), if they are mapped from a file.
inline void advise([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes, [[maybe_unused]] int what) {
#ifndef _WIN32
  if (bytes == 0) return;
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(p);
  auto& registry = Registry::only();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  auto after = registry.ranges.upper_bound(first);
  if (after == registry.ranges.begin()) return;
  const auto& [start, size] = *--after;
  if (first + bytes > start + size) return;
  const uintptr_t from = first / page * page, to = (first + bytes + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(from), to - from, what);
#endif
}

}  // namespace mapped_detail

// Lets go of the pages of p[0 .. n): their content stays in the file. For memory that is not mapped from a
// file, nothing happens.
template <class T>
void let_go(const T* p, int64_t n) {
#ifndef _WIN32
  mapped_detail::advise(p, static_cast<size_t>(n) * sizeof(T), MADV_DONTNEED);
#endif
}

// Says that p[0 .. n) will be read soon.
template <class T>
void fetch_ahead(const T* p, int64_t n) {
#ifndef _WIN32
  mapped_detail::advise(p, static_cast<size_t>(n) * sizeof(T), MADV_WILLNEED);
#endif
}

}  // namespace crfkit
