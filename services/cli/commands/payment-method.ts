import type { Command } from 'commander';
import { paymentMethodResource } from '../../../shared/catalog/store/store';
import { paymentMethodTypeSchema } from '../../../shared/catalog/vocabulary';
import type { PaymentMethodId, StoreId } from '../../../shared/kernel/ids';
import { addPaymentMethod, type NewPaymentMethod, removePaymentMethod } from '../../command/store';
import { waitForWrites } from '../catch-up';
import { CliError, withRuntime } from '../invocation';
import { choiceOption, idArgument, storeOption, subcommand, wholeNumberArgument } from '../options';
import { fieldsTable, right, table } from '../table';
import { requireStore } from './store';

type AddOptions = NewPaymentMethod & { readonly store: string };

export function paymentMethodCommands(program: Command): void {
  const method = program.command('payment-method').description('Manage the payment methods of a store');

  subcommand(method, 'add', 'Add a payment method to a store')
    .addOption(storeOption())
    .addOption(choiceOption('--type <type>', 'Type of the payment method', paymentMethodTypeSchema.options))
    .requiredOption('--name <name>', 'Name of the payment method')
    .option('--instructions <text>', 'How the customer pays')
    .option(
      '--position <number>',
      'Position in the list, from 1; default: last',
      wholeNumberArgument('--position'),
    )
    .action(
      withRuntime<AddOptions>(async ({ runtime, context, print }, options) => {
        const { environment } = await requireStore(runtime, options.store);
        const { type, name, instructions, position } = options;
        const target = { environment, id: options.store as StoreId };
        const input = { type, name, instructions, position };
        const { value } = await addPaymentMethod(runtime, context, target, input);
        await waitForWrites(runtime, environment);
        const { payment_method_id: id } = value;
        await print(paymentMethodResource(value), () =>
          fieldsTable({ id, ...input, position: value.position }),
        );
      }),
    );

  subcommand(method, 'list', 'List the payment methods of a store')
    .addOption(storeOption())
    .action(
      withRuntime<{ store: string }>(async ({ runtime, print }, { store }) => {
        const { payment_methods } = await requireStore(runtime, store);
        const sorted = payment_methods.toSorted((a, b) => a.position - b.position);
        await print({ payment_methods: sorted.map(paymentMethodResource) }, () =>
          table(
            ['id', right('position'), 'type', 'name'],
            sorted.map((each) => [each.payment_method_id, each.position, each.type, each.name]),
          ),
        );
      }),
    );

  subcommand(method, 'remove', 'Remove a payment method from a store')
    .argument('<id>', 'ID of the payment method', idArgument('payment method'))
    .addOption(storeOption())
    .action(
      withRuntime<{ store: string }>(async ({ runtime, context, printFields }, { store }, [id]) => {
        const { environment } = await requireStore(runtime, store);
        const target = { environment, id: store as StoreId, payment_method_id: id as PaymentMethodId };
        const { changed } = await removePaymentMethod(runtime, context, target);
        if (!changed)
          throw new CliError(
            `Store ${store} has no payment method ${id}. List them with "catalog payment-method list".`,
          );
        await waitForWrites(runtime, environment);
        await printFields({ id, removed: true });
      }),
    );
}
