import type { Command } from 'commander';
import { paymentMethodResource } from '../../../shared/catalog/store/store';
import { paymentMethodTypeSchema } from '../../../shared/catalog/vocabulary';
import type { PaymentMethodId, StoreId } from '../../../shared/kernel/ids';
import type { NewPaymentMethod } from '../../command/store';
import { addPaymentMethod, removePaymentMethod } from '../../command/store';
import { CliError, withRuntime } from '../invocation';
import { choiceOption, idArgument, storeOption, verb, wholeNumberArgument } from '../options';
import { projectWritten } from '../projected';
import { fieldsTable, right, table } from '../table';
import { requireStore } from './store';

type AddOptions = NewPaymentMethod & { readonly store: string };

export function paymentMethodCommands(program: Command): void {
  const method = program.command('payment-method').description("a store's payment methods");

  verb(method, 'add', 'add a payment method')
    .addOption(storeOption())
    .addOption(choiceOption('--type <type>', 'what kind', paymentMethodTypeSchema.options))
    .requiredOption('--name <name>', 'what it is called')
    .option('--instructions <text>', 'how to pay')
    .option('--position <number>', 'its place; after the last by default', wholeNumberArgument)
    .action(
      withRuntime<AddOptions>(async ({ runtime, context, print }, options) => {
        const { environment } = await requireStore(runtime, options.store);
        const { type, name, instructions, position } = options;
        const target = { environment, id: options.store as StoreId };
        const input = { type, name, instructions, position };
        const { value } = await addPaymentMethod(runtime, context, target, input);
        await projectWritten(runtime, environment);
        const { payment_method_id: id } = value;
        await print(paymentMethodResource(value), () =>
          fieldsTable({ id, ...input, position: value.position }),
        );
      }),
    );

  verb(method, 'list', "a store's payment methods")
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

  verb(method, 'remove', 'remove a payment method')
    .argument('<id>', 'the payment method', idArgument)
    .addOption(storeOption())
    .action(
      withRuntime<{ store: string }>(async ({ runtime, context, printFields }, { store }, [id]) => {
        const { environment } = await requireStore(runtime, store);
        const target = { environment, id: store as StoreId, payment_method_id: id as PaymentMethodId };
        const { changed } = await removePaymentMethod(runtime, context, target);
        if (!changed) throw new CliError(`store ${store} has no payment method ${id}`);
        await projectWritten(runtime, environment);
        await printFields({ id, removed: true });
      }),
    );
}
