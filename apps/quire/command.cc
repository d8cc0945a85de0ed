#include "apps/quire/command.h"

#include <string>

#include <unistd.h>

#include "apps/quire/io.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"

namespace quire {

void Complain(std::string_view message) { Tell(StrCat("quire: ", ForTerminal(message))); }

void Tell(std::string_view line) {
  // Nothing can be done where standard error is closed.
  (void)Writer(STDERR_FILENO, "standard error").WriteNow(StrCat(line, "\n"));
}

}  // namespace quire
