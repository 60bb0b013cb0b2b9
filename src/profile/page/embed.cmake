# SPDX-License-Identifier: Apache-2.0
# cmake -D INPUT=page.html -D OUTPUT=page_template.cc -P embed.cmake: the file as an array of bytes.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUTPUT} "// Made of ${INPUT} by embed.cmake.
#include \"profile/page/page_template.h\"

namespace memprof::profile {

const unsigned char kPageTemplate[] = {
${hex}
};
const size_t kPageTemplateSize = ${size};

}  // namespace memprof::profile
")
