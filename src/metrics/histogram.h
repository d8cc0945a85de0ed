// What a metric counts: numbers that any thread may change at any time without waiting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quire {

// Only grows.
class Counter {
 public:
  void Add(double amount = 1.0) { value_.fetch_add(amount, std::memory_order_relaxed); }
  // Follows a count that is kept elsewhere. One thread at a time.
  void RaiseTo(double total) {
    if (total > value()) Add(total - value());
  }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0.0;
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0.0;
};

// Counts and sum of what was observed.
class Summary {
 public:
  void Observe(double value) {
    sum_.Add(value);
    count_.Add();
  }
  double count() const { return count_.value(); }
  double sum() const { return sum_.value(); }

 private:
  Counter count_;
  Counter sum_;
};

// How many observations were at most each bound. A reader sees each number whole, but not all of
// them at one moment.
class Histogram {
 public:
  // `bounds` rise; one more bucket takes what is above the last.
  explicit Histogram(std::span<const double> bounds);

  // Takes in the same value `count` times. O(log of the number of bounds).
  void Observe(double value, std::uint64_t count = 1);

  std::span<const double> bounds() const { return bounds_; }
  // Of the bucket that ends at bounds()[idx], or of the one above them all; not cumulative.
  std::uint64_t count(std::size_t idx) const {
    return counts_[idx].load(std::memory_order_relaxed);
  }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;  // one more than bounds_
  std::atomic<double> sum_ = 0.0;
};

}  // namespace quire
