// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cython/cython_code.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/folder.h"

namespace memprof::profile {
namespace {

TEST(CythonCode, NamesOfFunctions) {
  EXPECT_EQ("cymod.cy_objects", cython_name("__pyx_pw_5cymod_1cy_objects"));
  EXPECT_EQ("cymod.cy_objects", cython_name("__pyx_pf_5cymod_cy_objects"));
  EXPECT_EQ("cymod.Acc.__init__", cython_name("__pyx_pw_5cymod_3Acc_1__init__"));
  EXPECT_EQ("cymod.Acc.add", cython_name("__pyx_pw_5cymod_3Acc_3add")) << "the number is not its length";
  EXPECT_EQ("cymod.Acc.add", cython_name("__pyx_pf_5cymod_3Acc_2add.isra.0"));
  EXPECT_EQ("cymod.Acc.__init__", cython_name("__pyx_pf_5cymod_3Acc___init__"));
  EXPECT_EQ("cymod.Base.__init__", cython_name("__pyx_pf_5cymod_4Base___init__"));
  EXPECT_EQ("cymod.load_all", cython_name("__pyx_pf_5cymod_4load_all"));
  EXPECT_EQ("cymod.inner", cython_name("__pyx_f_5cymod_inner"));
  EXPECT_EQ("cymod.Acc.grow", cython_name("__pyx_f_5cymod_3Acc_grow"));
  EXPECT_EQ("cymod.generator", cython_name("__pyx_gb_5cymod_6generator"));
  EXPECT_EQ("pkg.sub.add_item", cython_name("__pyx_pw_3pkg_3sub_3add_item")) << "no scope called `add`";
  for (const char* other : {"__pyx_pymod_exec_cymod", "__Pyx_Generator_Next", "__pyx_tp_new_5cymod_Acc",
                            "main", "", "__pyx_", "__pyx_f_"}) {
    EXPECT_EQ("", cython_name(other)) << other;
  }
  EXPECT_EQ("99999999999999999999x", cython_name("__pyx_pw_99999999999999999999x"));
}

TEST(CythonCode, LinesByTheCommentsOfTheCFile) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(""),
                               std::filesystem::perms(0755));  // root reads what all can read
  const std::string c_file = folder.path("cymod.c");
  std::ofstream(c_file) << "static int f(void) {\n"
                           "  /* \"pkg/cymod.pyx\":12\n"
                           " * cdef f():\n"
                           " */\n"
                           "  g();\n"
                           "/* \"pkg/other.pxd\":3\n"
                           "*/ h();\n"
                           "  /* \"not one\n"
                           "  /* \"cymod.pyx\":x */\n";
  CythonSources sources;
  const auto source = [&](int64_t c_line) {
    std::string file = c_file;
    const bool is_known = sources.to_source(&file, &c_line);
    return (is_known ? "" : "unknown ") + file.substr(file.rfind('/') + 1) + ":" + std::to_string(c_line);
  };
  EXPECT_EQ("unknown cymod.c:1", source(1));
  EXPECT_EQ("cymod.pyx:12", source(2));
  EXPECT_EQ("cymod.pyx:12", source(5));
  EXPECT_EQ("other.pxd:3", source(7));
  EXPECT_EQ("other.pxd:3", source(900));
  std::string file = c_file;
  int64_t line = 5;
  EXPECT_TRUE(sources.to_source(&file, &line));
  EXPECT_EQ(folder.path("cymod.pyx"), file);
  for (const std::string& other : {folder.path("none.c"), std::string("cymod.c"), folder.path("")}) {
    file = other;
    EXPECT_FALSE(sources.to_source(&file, &line)) << other;
    EXPECT_EQ(other, file);
  }
}

}  // namespace
}  // namespace memprof::profile
