// SPDX-License-Identifier: Apache-2.0
// A cache of C++ containers that is never emptied: what a reader of its profile looks for is SessionCache.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Session {
  std::string user;
  std::vector<int> history;
};

class SessionCache {
 public:
  void insert(int id) {
    auto session = std::make_shared<Session>();
    session->user = "a user whose name is not short, number " + std::to_string(id);
    for (int i = 0; i < 100; ++i) session->history.push_back(i);
    names_[session->user] = session->history;
    sessions_.emplace(id, session);
  }
  size_t size() const { return names_.size() + sessions_.size(); }

 private:
  std::unordered_map<std::string, std::vector<int>> names_;
  std::map<int, std::shared_ptr<Session>> sessions_;
};

template <typename Cache>
void fill(Cache& cache, int count) {
  for (int i = 0; i < count; ++i) cache.insert(i);
}

int main() {
  auto* cache = new SessionCache;
  fill(*cache, 5000);
  std::printf("%zu\n", cache->size());
  std::_Exit(std::fflush(stdout));
}
