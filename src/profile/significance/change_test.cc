// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/change_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace memprof::profile {
namespace {

constexpr size_t kMinSide = 2;             // blocks on each side of a step
constexpr double kMaxSteps = 4e9;          // of one test: some seconds
constexpr double kMinShareOfError = 1e-3;  // of the level: what scatters less is taken to scatter so much
// Neighbouring blocks may be correlated by 0.2, which shuffling takes away: the variance of a mean is larger by 1 + 2 * 0.2.
constexpr double kNeighbours = 1.4;
constexpr double kHansen95 = 7.35;  // -2 ln(1 - sqrt(0.95))
constexpr double kClearly = 6;      // difference of two BICs (Raftery 1995: strong)
constexpr size_t kGrid = 24;        // times a block

double square_of(double x) {
  return x * x;
}

// Values on a shape: one for each block, with mean 0.
struct Shape {
  std::vector<double> x;
  double squares = 0;
  double range = 0;
};

Shape centred(std::vector<double> x) {
  Shape shape;
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  shape.range = *high - *low;
  for (double& value : x) {
    value -= mean;
    shape.squares += value * value;
  }
  shape.x = std::move(x);
  return shape;
}

struct Regression {
  double slope = 0;
  double squares = 0;   // of the residuals
  double variance = 0;  // of one value, with the correlation of neighbours
};

double variance_of(double squares, double neighbours, size_t count, double min_variance) {
  const double variance = (squares + 2 * std::max(0.0, neighbours)) / static_cast<double>(count - 2);
  return std::max(variance, min_variance);
}

// `values` with mean 0.
Regression regression(const std::vector<double>& values, const Shape& shape, double min_variance) {
  Regression result;
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) result.slope += values[i] * shape.x[i];
  result.slope /= shape.squares;
  double neighbours = 0;
  double last = 0;
  for (size_t i = 0; i < count; ++i) {
    const double residual = values[i] - result.slope * shape.x[i];
    result.squares += residual * residual;
    neighbours += residual * last;
    last = residual;
  }
  result.variance = variance_of(result.squares, neighbours, count, min_variance);
  return result;
}

// Growth from the beginning, and from each quarter on.
std::vector<Shape> growths(size_t count) {
  std::vector<Shape> shapes;
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    const size_t begin = quarter * count / 4;
    if (begin + 3 > count) break;
    std::vector<double> x(count);
    for (size_t i = begin; i < count; ++i) x[i] = static_cast<double>(i - begin) + 0.5;
    shapes.push_back(centred(std::move(x)));
  }
  return shapes;
}

// A row that is made ready: values with mean 0.
struct Ready {
  std::vector<double> values;
  double min_variance = 0;
  double min_change = 0;
  size_t row = 0;
};

double ready_variance(const ChangeRow& row) {
  const double mean =
      std::accumulate(row.values.begin(), row.values.end(), 0.0) / static_cast<double>(row.values.size());
  return std::max(row.min_variance, square_of(kMinShareOfError * mean));
}

std::vector<double> with_mean_0(std::vector<double> values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
  return values;
}

// The square of |difference| / its error, at the step where it is largest.  Sums tell it in one pass.
double largest_step(const Ready& row, const std::vector<double>& values) {
  const size_t count = values.size();
  double squares = 0;
  double products = 0;  // of neighbours
  for (size_t i = 0; i < count; ++i) {
    squares += values[i] * values[i];
    if (i > 0) products += values[i - 1] * values[i];
  }
  double largest = 0;
  double sum = 0;  // of those before; of those after it is -sum
  for (size_t k = 1; k + kMinSide <= count; ++k) {
    sum += values[k - 1];
    if (k < kMinSide) continue;
    const auto before = static_cast<double>(k);
    const auto after = static_cast<double>(count - k);
    const double mean_before = sum / before;
    const double mean_after = -sum / after;
    const double change = mean_after - mean_before;
    if (std::abs(change) < row.min_change) continue;
    const double left = std::max(0.0, squares - sum * mean_before + sum * mean_after);
    // Sum of (v[i] - mean)(v[i + 1] - mean') over neighbours: within each side, and across the step.
    const double neighbours = products - mean_before * (2 * sum - values[0] - values[k - 1]) +
                              (before - 1) * square_of(mean_before) -
                              mean_after * (-2 * sum - values[k] - values[count - 1]) +
                              (after - 1) * square_of(mean_after) - values[k - 1] * mean_after -
                              mean_before * values[k] + mean_before * mean_after;
    const double variance = variance_of(left, neighbours, count, row.min_variance);
    largest = std::max(largest, square_of(change) / (variance * (1 / before + 1 / after)));
  }
  return largest;
}

double statistic(const Ready& row, const std::vector<double>& values, const std::vector<Shape>& shapes) {
  double largest = largest_step(row, values);
  for (const Shape& shape : shapes) {
    const Regression fit = regression(values, shape, row.min_variance);
    if (std::abs(fit.slope) * shape.range < row.min_change) continue;
    largest = std::max(largest, square_of(fit.slope) * shape.squares / fit.variance);
  }
  return largest;
}

// In any order, each as likely; the same on all systems.
void shuffle(std::vector<size_t>* order, std::mt19937_64* random) {
  for (size_t i = order->size(); i > 1; --i) std::swap((*order)[i - 1], (*order)[(*random)() % i]);
}

// How much of the block from `begin` to begin + 1 is after `time`; or, of growth, the mean time since then.
double step_at(double begin, double time) {
  return std::clamp(begin + 1 - time, 0.0, 1.0);
}

double growth_at(double begin, double time) {
  if (time <= begin) return begin + 0.5 - time;
  return time >= begin + 1 ? 0 : square_of(begin + 1 - time) / 2;
}

struct Candidate {
  double time;
  double squares;
};

Shape shape_at(const std::vector<double>& begins, double time, double (*at)(double, double)) {
  std::vector<double> x;
  x.reserve(begins.size());
  for (const double begin : begins) x.push_back(at(begin, time));
  return centred(std::move(x));
}

// All times on the grid, of which there is data before and after.
std::vector<Candidate> candidates(const std::vector<double>& values, const std::vector<double>& begins,
                                  ChangeShape shape) {
  std::vector<Candidate> found;
  const bool is_step = shape == ChangeShape::kStep;
  const double first = is_step ? begins[1] : begins[0];
  const double last = begins[begins.size() - kMinSide] + (is_step ? 1 : 0);
  const auto count = static_cast<size_t>(std::llround((last - first) * static_cast<double>(kGrid)));
  for (size_t i = 0; i <= count; ++i) {
    const double time = first + static_cast<double>(i) / static_cast<double>(kGrid);
    const Shape x = shape_at(begins, time, is_step ? step_at : growth_at);
    if (x.squares > 0) found.push_back({time, regression(values, x, 0).squares});
  }
  return found;
}

const Candidate& best_of(const std::vector<Candidate>& all) {
  return *std::min_element(all.begin(), all.end(),
                           [](const Candidate& a, const Candidate& b) { return a.squares < b.squares; });
}

}  // namespace

size_t min_blocks(double rate) {
  double orders = 1;  // blocks over half of them
  for (size_t blocks = 2;; ++blocks) {
    orders *= static_cast<double>(blocks) / static_cast<double>((blocks + 1) / 2);
    if (2 / orders <= rate) return std::max(blocks, 2 * kMinSide + 1);
  }
}

ChangeTest change_test(const std::vector<ChangeRow>& rows, double rate, uint64_t seed) {
  ChangeTest result;
  result.p_values.assign(rows.size(), 1);
  if (rows.empty() || rows[0].values.size() < 2 * kMinSide + 1) return result;
  const size_t count = rows[0].values.size();
  const std::vector<Shape> shapes = growths(count);
  std::vector<Ready> ready;
  std::vector<double> observed;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [low, high] = std::minmax_element(rows[i].values.begin(), rows[i].values.end());
    // In no order there is a change in it.
    if (*high - *low < rows[i].min_change || *high == *low) continue;
    ready.push_back({with_mean_0(rows[i].values), ready_variance(rows[i]), rows[i].min_change, i});
    observed.push_back(statistic(ready.back(), ready.back().values, shapes) / kNeighbours);
  }
  if (ready.empty()) return result;
  const double largest = *std::max_element(observed.begin(), observed.end());
  const double steps = static_cast<double>(ready.size() * count * (2 + shapes.size()));
  const double most = std::max(std::ceil(2 / rate), kMaxSteps / steps);
  const auto shuffles = static_cast<size_t>(std::min(std::ceil(10 / rate), most)) - 1;
  const double allowed = rate * static_cast<double>(shuffles + 1) - 1;  // shuffles with more
  std::mt19937_64 random(seed);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> shuffled(count);
  std::vector<double> maxima;
  double above = 0;
  while (maxima.size() < shuffles) {
    shuffle(&order, &random);
    double max = 0;
    for (const Ready& row : ready) {
      for (size_t i = 0; i < count; ++i) shuffled[i] = row.values[order[i]];
      max = std::max(max, statistic(row, shuffled, shapes));
      if (max >= largest) break;  // it is counted against every row
    }
    maxima.push_back(max);
    if (max >= largest && ++above > allowed) {  // no row can have a small one
      result.shuffles = maxima.size();
      return result;
    }
  }
  result.shuffles = shuffles;
  std::sort(maxima.begin(), maxima.end());
  for (size_t i = 0; i < ready.size(); ++i) {
    if (!(observed[i] > 0)) continue;
    const auto more = maxima.end() - std::lower_bound(maxima.begin(), maxima.end(), observed[i]);
    result.p_values[ready[i].row] = static_cast<double>(more + 1) / static_cast<double>(shuffles + 1);
  }
  return result;
}

ChangeFit fit_change(const ChangeRow& row, const std::vector<double>& begins) {
  const std::vector<double> values = with_mean_0(row.values);
  const double mean = row.values[0] - values[0];
  const auto count = static_cast<double>(values.size());
  const double min_variance = std::max(ready_variance(row), std::numeric_limits<double>::min());
  const std::vector<Candidate> steps = candidates(values, begins, ChangeShape::kStep);
  const std::vector<Candidate> growing = candidates(values, begins, ChangeShape::kGrowth);
  const auto information = [&](const std::vector<Candidate>& all) {
    return count * std::log(best_of(all).squares + count * min_variance / 100);
  };
  const double difference = information(growing) - information(steps);
  ChangeFit fit;
  const bool is_growth = difference < 0;
  fit.shape = std::abs(difference) < kClearly ? ChangeShape::kUnclear
              : is_growth                     ? ChangeShape::kGrowth
                                              : ChangeShape::kStep;
  const std::vector<Candidate>& all = is_growth ? growing : steps;
  const Candidate best = best_of(all);
  const Shape x = shape_at(begins, best.time, is_growth ? growth_at : step_at);
  const Regression found = regression(values, x, min_variance);
  fit.time = fit.low_time = fit.high_time = best.time;
  // Where either may be true, the times of both.
  for (const std::vector<Candidate>* each : {&steps, &growing}) {
    if (each != &all && fit.shape != ChangeShape::kUnclear) continue;
    for (const Candidate& other : *each) {
      if (other.squares - best.squares > kHansen95 * found.variance) continue;
      fit.low_time = std::min(fit.low_time, other.time - 1.0 / kGrid);
      fit.high_time = std::max(fit.high_time, other.time + 1.0 / kGrid);
    }
  }
  const double slope_error = std::sqrt(found.variance / x.squares);
  const double low = *std::min_element(x.x.begin(), x.x.end());
  const double high = *std::max_element(x.x.begin(), x.x.end());
  fit.before = mean + found.slope * low;
  fit.after = mean + found.slope * high;
  const double of_mean = found.variance / count;
  fit.before_error = std::sqrt(of_mean + square_of(slope_error * low));
  fit.after_error = std::sqrt(of_mean + square_of(slope_error * high));
  fit.change_error = slope_error * (high - low);
  if (is_growth) {
    fit.growth = found.slope;
    fit.growth_error = slope_error;
  }
  return fit;
}

}  // namespace memprof::profile
