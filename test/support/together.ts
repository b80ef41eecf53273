import { record } from './durations';
import { shareServices } from './harness';

/**
 * Defines the tests of several files, such as `api/views`, in the calling one. They run one after the other and load the
 * product once. Files of `test/api` and `test/console` share services (`startHarness`); the tests of other folders break theirs.
 */
export function runTogether(files: readonly string[]): void {
  if (files.every((file) => /^(api|console)\//.test(file))) shareServices();
  for (const file of files)
    describe(file, () => {
      let began_ms: number;
      beforeAll(() => {
        began_ms = performance.now();
      });
      require(`../${file}.test.js`);
      afterAll(() => {
        jest.restoreAllMocks();
        record({ file, project: 'embedded', seconds: (performance.now() - began_ms) / 1000 });
      });
    });
}
