import { type Command, Option } from 'commander';
import { ensureDemo } from '../../demo/ensure';
import { demoRequests } from '../../demo/start';
import { uploadDemoPictures } from '../../demo/upload-pictures';
import { waitForWrites } from '../catch-up';
import { CliError, MAY_CREATE, stopSignal, withRuntime } from '../invocation';
import { subcommand } from '../options';

export function demoCommands(program: Command): void {
  const demo = program.command('demo').description('Create the demo store');

  subcommand(demo, 'create', 'Create the demo store in an empty catalog; print its keys and requests to try')
    .addOption(
      new Option('--url <url>', 'Address of the service in the requests; default: PORT on this machine').env(
        'CATALOG_URL',
      ),
    )
    .action(
      withRuntime<{ url?: string }>(async ({ runtime, print }, options) => {
        const { url = `http://127.0.0.1:${runtime.config.PORT}` } = options;
        const signal = stopSignal();
        // The command asks for a demo, whatever the processes of the service are set to.
        const ready = await ensureDemo(runtime, { ...runtime.config, DEMO: 'on' });
        if (!ready)
          throw new CliError(
            'The catalog is not empty, so it gets no demo store. Run "catalog account create" to add a shop.',
          );
        await uploadDemoPictures(runtime, runtime.config, ready.demo, signal);
        await waitForWrites(runtime, 'control', 'live', 'test');
        const { listing_id, publication_id } = ready;
        await print({ ...ready.demo, listing_id, publication_id }, () =>
          demoRequests(ready, url.replace(/\/+$/, '')),
        );
      }, MAY_CREATE),
    );
}
