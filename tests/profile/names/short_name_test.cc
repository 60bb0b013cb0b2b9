// SPDX-License-Identifier: Apache-2.0
#include "profile/names/short_name.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ShortName, WhatFitsStays) {
  EXPECT_EQ(short_name("main", 4), "main");
  EXPECT_EQ(short_name("f(int)", 6), "f(int)");
}

TEST(ShortName, ParametersGoFirst) {
  EXPECT_EQ(short_name("Cache<>::insert(std::pair<> const&)", 22), "Cache<>::insert(…)");
  EXPECT_EQ(short_name("f()", 3), "f()");
  EXPECT_EQ(short_name("a_long_one<>::f(int, int) const", 24), "a_long_one<>::f(…) const");
}

TEST(ShortName, HasOneEllipsisAtMost) {
  const std::string name =
      "main::run(int, char**)::{lambda(std::map<>, int)#1}::operator()(std::map<>, int) const";
  const std::string ellipsis = "…";
  for (size_t width = 1; width < text_width(name); ++width) {
    const std::string text = short_name(name, width);
    const size_t at = text.find(ellipsis);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(ellipsis, at + 1), std::string::npos) << text;
  }
  EXPECT_EQ(short_name(name, 60), "main::run()::{lambda()#1}::operator()(…) const");
}

TEST(ShortName, TheMiddleGoesLast) {
  EXPECT_EQ(short_name("abcdefghij", 5), "ab…ij");
  EXPECT_EQ(short_name("abcdefghij", 4), "ab…j");
  EXPECT_EQ(short_name("abcdefghij", 1), "…");
  EXPECT_EQ(short_name("abcdefghij", 0), "");
}

TEST(ShortName, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(text_width("中文字"), 6U);
  EXPECT_EQ(short_name("中文字", 6), "中文字");
  EXPECT_EQ(short_name("中文字", 5), "中…字");
  EXPECT_EQ(short_name("中文字", 4), "中…") << "a column is left: there is no half of a character";
  EXPECT_EQ(short_path("/中文/字", 5), "…/字");
  EXPECT_EQ(short_path("src/main.c", 7), "…main.c");
  EXPECT_EQ(short_path("main.c", 6), "main.c");
  EXPECT_EQ(text_width("e\xcc\x81"), 1U) << "an accent stands over its letter";
}

TEST(ShortName, OperatorsAreNoBrackets) {
  EXPECT_EQ(short_name("operator<<(std::ostream&, Thing const&)", 20), "operator<<(…)");
  EXPECT_EQ(short_name("Thing<int>::operator->(int, int) const", 32), "Thing<int>::operator->(…) const");
  EXPECT_EQ(short_name("Thing<>::operator()(int, int) const", 33), "Thing<>::operator()(…) const");
  EXPECT_EQ(short_name("my_operator<>(int, long)", 22), "my_operator<>(…)");
}

TEST(ShortName, AnonymousNamespacesStay) {
  EXPECT_EQ(short_name("(anonymous namespace)::f(int, int, int)", 30), "(anonymous namespace)::f(…)");
}

TEST(ShortName, NeverWiderThanAsked) {
  const std::string names[] = {
      "a<b<c>",   "f(((", ">>>><<<<", "größe_der_überschrift::öffnen(ä, ö)", "中文::字(中, 文)::é中",
      "operator", ""};
  for (const std::string& name : names) {
    for (size_t width = 0; width < 40; ++width) {
      EXPECT_LE(text_width(short_name(name, width)), width) << name << " " << width;
    }
  }
}

TEST(ShortName, CountsCharactersAndCutsBetweenThem) {
  EXPECT_EQ(text_width("größe…"), 6u);
  EXPECT_EQ(short_name("ääääääääää", 5), "ää…ää");
}

TEST(PlainName, HasNoParametersAndTemplateArguments) {
  EXPECT_EQ(plain_name("ns::Cache<int>::insert<long>(long) const"), "ns::Cache::insert");
  EXPECT_EQ(plain_name("f(int) [clone .cold]"), "f");
  EXPECT_EQ(plain_name("Thing::operator()(int) const"), "Thing::operator()");
  EXPECT_EQ(plain_name("std::panic::catch_unwind::<f, isize>"), "std::panic::catch_unwind");
  EXPECT_EQ(plain_name("<module>"), "<module>");
}

TEST(ShownName, TemplateArgumentsGo) {
  const auto shown = [](const std::string& name) { return shown_name(name, "", ""); };
  EXPECT_EQ(shown("std::vector<int, std::allocator<int> >::push_back(int const&)"),
            "std::vector<>::push_back(int const&)");
  EXPECT_EQ(shown("f(std::map<int, std::vector<int> > const&)"), "f(std::map<> const&)");
  EXPECT_EQ(shown("std::__cxx11::basic_string<char>::_M_mutate(int)"), "std::basic_string<>::_M_mutate(int)");
  EXPECT_EQ(shown("std::__1::vector<int>::f()"), "std::vector<>::f()");
  EXPECT_EQ(shown("name[abi:cxx11](int)"), "name(int)");
  EXPECT_EQ(shown("Thing<A>::operator()<B>(B) const"), "Thing<>::operator()<>(B) const");
  EXPECT_EQ(shown("operator<< <A>(std::ostream&, A)"), "operator<< <>(std::ostream&, A)");
  EXPECT_EQ(shown("bool operator< <A>(A, A)"), "bool operator< <>(A, A)");
  EXPECT_EQ(shown("Thing<A>::operator->() const"), "Thing<>::operator->() const");
  EXPECT_EQ(shown("<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
            "<alloc::vec::Vec<> as core::clone::Clone>::clone");
  EXPECT_EQ(shown("r::run::<fn() -> i32, isize>"), "r::run");
  EXPECT_EQ(shown("Table<(A)1, &f(int)>::get()"), "Table<>::get()");
}

TEST(ShownName, NamesInBracketsAndWithoutPairsStay) {
  for (const char* name : {"<module>", "f.<locals>.<lambda>", "Array.<anonymous>", "a<b", "a>b", "a->b", "<",
                           ">", "", "LazyCompile:~f /app/x.js:3:1", "operator<", "main"}) {
    EXPECT_EQ(shown_name(name, "", ""), name);
  }
}

TEST(ShownName, ReturnTypesGo) {
  const struct {
    const char* name;
    const char* shown;
  } kShown[] = {
      {"void handle<Cache>(Cache&, int)", "handle<>(Cache&, int)"},
      {"std::vector<int, std::allocator<int> > make<int>(int)", "make<>(int)"},
      {"unsigned long const& ns::max<unsigned long>(unsigned long)", "ns::max<>(unsigned long)"},
      {"auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
       "main::{lambda(auto:1)#1}::operator()<>(int) const"},
      {"decltype (((a).b)()) f<A>(A)", "f<>(A)"},
      {"void (anonymous namespace)::f<int>(int)", "(anonymous namespace)::f<>(int)"},
      {"non-virtual thunk to Stream::write(int)", "Stream::write(int)"},
      {"Thing::operator std::string() const", "Thing::operator std::string() const"},
      {"std::ostream& operator<< <A>(std::ostream&, A)", "operator<< <>(std::ostream&, A)"},
      {"void (*choose<int>(int))(char)", "void (*choose<>(int))(char)"},
      {"operator new(unsigned long)", "operator new(unsigned long)"},
      {"f(unsigned long)", "f(unsigned long)"},
      {"f", "f"},
  };
  for (const auto& n : kShown) EXPECT_EQ(shown_name(n.name, "_Z1f", ""), n.shown);
  EXPECT_EQ(shown_name("LazyCompile f(int)", "LazyCompile f(int)", ""), "LazyCompile f(int)") << "of no C++";
}

TEST(ShownName, ClonesAreTheFunction) {
  for (const char* name : {"f.isra.0", "f.constprop.0", "f.part.12", "f.cold", "f.cold.3", "f.lto_priv.0",
                           "f.constprop.0.isra.1.cold", "f.llvm.1234567890", "f.localalias"}) {
    EXPECT_EQ(shown_name(name, name, ""), "f") << name;
  }
  EXPECT_EQ(shown_name("C::f(int) [clone .isra.0] [clone .cold]", "_ZN1C1fEi.isra.0.cold", ""), "C::f(int)");
  for (const char* name :
       {"f.part", "f.isra", "f.0", "f._omp_fn.0", ".cold", "part.cold_start", "f.part.x"}) {
    EXPECT_EQ(shown_name(name, name, ""), name);
  }
  EXPECT_EQ(shown_name("main.cold", "main.cold", "/src/drinks.go"), "main.cold");
}

TEST(ShownName, BearsHugeNames) {
  std::string name;
  for (size_t i = 0; i < 200'000; ++i) name += "f[abi:cxx11]::<A<B> >(anonymous namespace)std::__cxx11::(c)";
  EXPECT_LT(shown_name(name, "_Z", "").size(), name.size());
  EXPECT_LT(plain_name(name).size(), name.size());
  EXPECT_EQ(text_width(short_name(name, 30)), 30u);
}

TEST(ShownModule, ThePlatformOfExtensionsGoes) {
  EXPECT_EQ(shown_module("algos.cpython-312-x86_64-linux-gnu.so"), "algos.so");
  EXPECT_EQ(shown_module("algos.cpython-311-x86_64-linux-gnu.so+0x89d0"), "algos.so+0x89d0");
  EXPECT_EQ(shown_module("libpython3.12.so.1.0"), "libpython3.12.so.1.0");
  EXPECT_EQ(shown_module("x.cpython-312"), "x.cpython-312");
  EXPECT_EQ(shown_module(""), "");
}

}  // namespace
}  // namespace memprof::profile
