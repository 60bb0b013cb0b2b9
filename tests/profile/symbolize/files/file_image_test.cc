// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/file_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

constexpr size_t kBytes = 3 << 20;

int open_file(const std::string& path, int flags = O_RDWR) {
  return ::open(path.c_str(), flags | O_CLOEXEC);
}

TEST(FileImage, HasTheBytesOfTheFile) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", std::string(kBytes, 'a') + "end");
  const int fd = open_file(folder / "file", O_RDONLY);
  const auto image = FileImage::map(fd, kBytes + 3);
  close(fd);
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->size(), kBytes + 3);
  EXPECT_EQ(std::string(image->data() + kBytes - 1, 4), "aend");
}

TEST(FileImage, WritesGoToTheCopyOnly) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", "abc");
  const int fd = open_file(folder / "file", O_RDONLY);
  const auto image = FileImage::map(fd, 3);
  close(fd);
  image->data()[0] = 'x';
  EXPECT_EQ(fixture::read_file(folder / "file"), "abc");
}

TEST(FileImage, AFileThatShrinksEndsInZeros) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", std::string(kBytes, 'a'));
  const int fd = open_file(folder / "file");
  const auto image = FileImage::map(fd, kBytes);
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->data()[kBytes - 1], 'a');
  ASSERT_EQ(ftruncate(fd, 1), 0);
  close(fd);
  EXPECT_EQ(image->data()[0], 'a');
  for (size_t i = 4096; i < kBytes; i += 1000) ASSERT_EQ(image->data()[i], 0) << i;
}

TEST(FileImage, ACopyStaysAsItIs) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", std::string(kBytes, 'a') + "end");
  const int fd = open_file(folder / "file");
  ASSERT_EQ(ftruncate(fd, 3 * kBytes), 0);  // with a hole
  const auto image = FileImage::copy(fd, 3 * kBytes + 100);
  ASSERT_NE(image, nullptr);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  close(fd);
  EXPECT_EQ(std::string(image->data() + kBytes - 1, 5), std::string("aend\0", 5));
  EXPECT_EQ(image->size(), 3 * kBytes + 100);
  EXPECT_EQ(image->data()[2 * kBytes], 0);
  EXPECT_EQ(image->data()[3 * kBytes + 99], 0) << "behind its end";
}

TEST(FileImage, OtherBusErrorsStillEndTheProcess) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", "abc");
  const int fd = open_file(folder / "file", O_RDONLY);
  const auto image = FileImage::map(fd, 3);
  close(fd);
  EXPECT_EXIT(
      {
        raise(SIGBUS);
        raise(SIGBUS);  // the first gave the signal its default back
      },
      [](int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) != 0; },  // sanitizers exit
      "");
}

TEST(FileImage, ManyCanBeOpenOneAfterTheOther) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", "abc");
  const int fd = open_file(folder / "file", O_RDONLY);
  for (int i = 0; i < 1000; ++i) ASSERT_NE(FileImage::map(fd, 3), nullptr) << i;
  close(fd);
}

TEST(FileImage, BytesThatWereUnpacked) {
  const FileImage image(std::vector<char>{'x', 'y'});
  EXPECT_EQ(std::string(image.data(), image.size()), "xy");
}

}  // namespace
}  // namespace memprof::profile
