// SPDX-License-Identifier: Apache-2.0
#include <list>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

// What pybind11_module.py keeps.
class Index {
 public:
  void reserve(size_t count) { values_.reserve(count); }
  void add_name(const std::string& name) { names_.push_back(name); }
  // A node has two pointers; the text is outside of it.
  size_t bytes() const {
    size_t sum = 0;
    for (const std::string& name : names_)
      sum += sizeof(std::string) + 2 * sizeof(void*) + name.capacity() + 1;
    return sum;
  }

 private:
  std::vector<double> values_;
  std::list<std::string> names_;
};

PYBIND11_MODULE(index_pb, module) {
  pybind11::class_<Index>(module, "Index")
      .def(pybind11::init<>())
      .def("reserve", &Index::reserve)
      .def("add_name", &Index::add_name)
      .def("bytes", &Index::bytes);
}
