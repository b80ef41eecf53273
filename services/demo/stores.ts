import type { Environment } from '../../shared/catalog/realm';
import type { Store } from '../../shared/catalog/store/store';
import type { AccountId, PaymentMethodId, StoreId } from '../../shared/kernel/ids';
import { deriveId } from '../../shared/kernel/ids';
import type { ControlDeps, WriteContext } from '../command/execute';
import type { NewPaymentMethod, NewStore } from '../command/store';
import { addPaymentMethod, createStore } from '../command/store';

const LIVE: NewStore = {
  environment: 'live',
  name: 'Amancay',
  description: 'Taller de cerámica, tostaduría y papelería de barrio en Barranco, Lima.',
  businessHours: [
    { day: 'lunes a viernes', hours: '10:00–19:00' },
    { day: 'sábado', hours: '10:00–20:00' },
    { day: 'domingo', hours: '11:00–17:00' },
  ],
  contact: {
    address: 'Calle Cajamarca 318, Barranco, Lima',
    phone: '+51 1 555 0148',
    email: 'hola@amancay.example',
  },
  policies: {
    shipping: 'Lima en 48 horas; al resto del Perú en cinco días. Los talleres no se envían.',
    returns: 'Treinta días, sin usar y en su caja. Lo roto en el camino se repone.',
    satisfaction: 'Si una pieza no te gusta, la cambiamos por otra del mismo precio.',
  },
  ruc: '20600000001',
};

const METHODS: readonly NewPaymentMethod[] = [
  { type: 'card', name: 'Tarjeta de crédito o débito', instructions: 'Visa, Mastercard y American Express.' },
  { type: 'wallet', name: 'Billetera móvil', instructions: 'Escanea el código al pagar.' },
  {
    type: 'bank_transfer',
    name: 'Transferencia bancaria',
    instructions: 'Cuenta en soles; envíanos la constancia.',
  },
  { type: 'cash', name: 'Efectivo en la tienda' },
];

const PROFILES: Readonly<Record<Environment, { store: NewStore; methods: readonly NewPaymentMethod[] }>> = {
  live: { store: LIVE, methods: METHODS },
  test: {
    store: {
      environment: 'test',
      name: 'Amancay (pruebas)',
      description: 'Para probar sin tocar la tienda.',
    },
    methods: METHODS.slice(0, 2),
  },
};

/** Creates the demo store of an environment with its payment methods. A second call with the same id writes nothing. */
export async function makeStore(
  deps: ControlDeps,
  context: WriteContext,
  environment: Environment,
  ids: { readonly account_id: AccountId; readonly id: StoreId },
): Promise<Store> {
  const { store, methods } = PROFILES[environment];
  const created = await createStore(deps, context, ids, store);
  const since_ms = Date.parse(created.value.created_at);
  for (const [index, method] of methods.entries()) {
    const payment_method_id = deriveId<PaymentMethodId>(since_ms, ids.id, 'payment_method', method.type);
    const target = { environment, id: ids.id, payment_method_id };
    await addPaymentMethod(deps, context, target, { ...method, position: index + 1 });
  }
  return created.value;
}
