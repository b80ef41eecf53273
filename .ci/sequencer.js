/** Runs test files in the order of their names: the dear parts, those of `api` and `fault`, are not the last. */
module.exports = class NameSequencer {
  sort(tests) {
    return [...tests].sort((one, other) => (one.path < other.path ? -1 : 1));
  }

  /** Jest asks for it with `--onlyFailures`. */
  allFailedTests() {
    return [];
  }

  /** The order does not depend on earlier runs. */
  cacheResults() {}
};
