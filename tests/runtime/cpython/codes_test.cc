// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/codes.h"

#include <gtest/gtest.h>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "tests/support/engine.h"
#include "tests/support/fake_python.h"

namespace memprof::cpython::codes_test {
namespace {

using testing_support::FakePython;
using testing_support::in_child;
using testing_support::run_threads;

constexpr Limits kLimits{1024, 256, 64};

const CodeEntry& entry(uint32_t id) {
  return *profiler::arena().at<CodeEntry>(kCodeSection, id * sizeof(CodeEntry));
}
std::string name(uint32_t id) {
  const uint64_t piece = profiler::arena().at<NameEntry>(kNameSection, id * sizeof(NameEntry))->piece;
  return profiler::arena().at<char>(kTextSection, TextPiece::place(piece));
}
uint32_t find(const FakePython& python, uint64_t object) {
  const CodeWord code = find_code<DirectMemory>(python.interpreter, python.layout, object, code_cache());
  EXPECT_NE(0u, code);
  return code_of(code);
}

TEST(PythonCodes, AreEnteredWithNameFileAndLines) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const CodeWord code = find_code<DirectMemory>(python.interpreter, python.layout,
                                                  python.code("Class.method", "/x/y.py", 7), code_cache());
    ASSERT_NE(0u, code);
    EXPECT_EQ(2u, position_of(code));
    EXPECT_EQ("Class.method", name(entry(code_of(code)).function));
    EXPECT_EQ("/x/y.py", name(entry(code_of(code)).file));
    EXPECT_EQ(7u, entry(code_of(code)).first_line);
    EXPECT_EQ(26u, entry(code_of(code)).lines_bytes);
  });
}

TEST(PythonCodes, NamesAreUtf8WhateverTheyWere) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const uint64_t file = python.text("f.py");
    const auto named = [&](uint64_t text) {
      return name(entry(find(python, python.code(text, file, 1))).function);
    };
    EXPECT_EQ("\xc3\xbcn", named(python.wide_text<uint8_t>({0xfc, 'n'})));
    EXPECT_EQ("\xe5\x90\x8d", named(python.wide_text<uint16_t>({0x540d})));
    EXPECT_EQ("\xf0\x9f\x90\x8dx", named(python.wide_text<uint32_t>({0x1f40d, 'x'})));
  });
}

TEST(PythonCodes, ADroppedObjectIsForgotten) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const uint64_t name_text = python.text("first");
    const uint64_t object = python.code(name_text, python.text("f.py"), 1);
    const uint32_t first = find(python, object);
    EXPECT_EQ(first, find(python, object));
    // Another object at all the same addresses.
    python.drop(object);
    python.rewrite(name_text, "again");
    const uint32_t second = find(python, object);
    EXPECT_NE(first, second);
    EXPECT_EQ("again", name(entry(second).function));
    // Code that is made again from the same source is the code that it was.
    python.drop(object);
    python.rewrite(name_text, "first");
    EXPECT_EQ(first, find(python, object));
  });
}

// Each object has two places, which many share.
TEST(PythonCodes, ManyObjectsAreForgottenOneByOne) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const uint64_t file = python.text("f.py");
    const uint64_t name_text = python.text("old");
    std::vector<uint64_t> objects;
    for (int i = 0; i < 9000; ++i) {
      objects.push_back(python.code(name_text, file, 1));
      find(python, objects.back());
    }
    for (const uint64_t object : objects) {
      python.drop(object);
    }
    python.rewrite(name_text, "new");
    for (const uint64_t object : objects) {
      ASSERT_EQ("new", name(entry(find(python, object)).function));
    }
  });
}

// Where the deallocation of code is not seen nothing is remembered.
TEST(PythonCodes, OfATypeThatIsNotAsItShouldBeAreReadAgain) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    unwatch_codes();
    Interpreter other = python.interpreter;
    FakePython::CodeType wrong{{}, "mode", {}, nullptr};
    other.code_type = &wrong;
    watch_codes(other, python.layout);
    EXPECT_EQ(CodeCache::kNothing, code_cache().salt);
    EXPECT_EQ(nullptr, wrong.deallocate);
    const uint64_t name_text = python.text("one");
    const uint64_t object = python.code(name_text, python.text("f.py"), 1);
    EXPECT_EQ("one", name(entry(find(python, object)).function));
    python.rewrite(name_text, "two");
    EXPECT_EQ("two", name(entry(find(python, object)).function));
  });
}

TEST(PythonCodes, OfAnInterpreterThatWasUnloadedAreForgotten) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const uint64_t name_text = python.text("one");
    const uint64_t object = python.code(name_text, python.text("f.py"), 1);
    find(python, object);
    unwatch_codes();
    EXPECT_EQ(CodeCache::kNothing, code_cache().salt);
    python.rewrite(name_text, "two");
    watch_codes(python.interpreter, python.layout);  // it came back
    EXPECT_EQ("two", name(entry(find(python, object)).function));
    python.drop(object);  // which calls the type's own deallocation, and not ours again
  });
}

TEST(PythonCodes, WhatIsNoCodeIsRefused) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    const auto refuses = [&](uint64_t object) {
      return find_code<DirectMemory>(python.interpreter, python.layout, object, code_cache()) == 0 &&
             find_code<CheckedMemory>(python.interpreter, python.layout, object, code_cache()) == 0 &&
             !is_code(python.interpreter, python.layout, object);
    };
    const uint64_t good = python.code("good");
    EXPECT_FALSE(refuses(good));
    EXPECT_TRUE(refuses(0));
    EXPECT_TRUE(refuses(python.text("a text")));
    const uint64_t wrong_name = python.code(python.bytes("x"), python.text("f"), 1);
    EXPECT_TRUE(refuses(wrong_name));
    const uint64_t wrong_lines = python.code("x");
    FakePython::put(wrong_lines + python.layout.code_lines, python.text("not bytes"));
    EXPECT_TRUE(refuses(wrong_lines));
    const uint64_t not_compact = python.text("x");
    FakePython::put(not_compact + python.layout.text_state, uint32_t{1u << 2});
    EXPECT_TRUE(refuses(python.code(not_compact, python.text("f"), 1)));
  });
}

TEST(PythonCodes, CheckedMemorySurvivesAddressesThatAreNotThere) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    void* gone = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto hole = reinterpret_cast<uint64_t>(gone);
    EXPECT_EQ(0u, find_code<CheckedMemory>(python.interpreter, python.layout, hole, code_cache()));
    const uint64_t object = python.code("x");
    FakePython::put(object + python.layout.code_name, hole);
    EXPECT_EQ(0u, find_code<CheckedMemory>(python.interpreter, python.layout, object, code_cache()));
    EXPECT_FALSE(CheckedMemory::is_readable(hole - 8, 16));
    munmap(gone, 4096);
  });
}

TEST(PythonCodes, ThreadsThatMeetTheSameCodeAgree) {
  in_child([] {
    profiler::initialize(kLimits, 1024);
    FakePython python;
    std::vector<uint64_t> objects;
    for (int i = 0; i < 300; ++i) {
      objects.push_back(python.code("f" + std::to_string(i)));
    }
    std::vector<std::vector<uint32_t>> ids(4);
    run_threads(4, [&](int t) {
      for (int round = 0; round < 5; ++round) {
        for (const uint64_t object : objects) {
          const CodeWord code =
              find_code<DirectMemory>(python.interpreter, python.layout, object, code_cache());
          if (round == 0) {
            ids[static_cast<size_t>(t)].push_back(code_of(code));
          }
        }
      }
    });
    for (size_t t = 1; t < 4; ++t) {
      EXPECT_EQ(ids[0], ids[t]);
    }
  });
}

}  // namespace
}  // namespace memprof::cpython::codes_test
