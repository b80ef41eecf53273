import { z } from 'zod';
import { newShape, patchShape } from '../../../shared/catalog/fields';
import { lineField, textField } from '../../../shared/catalog/input-rules';
import { storeFields } from '../../../shared/catalog/store/fields';
import { environmentSchema, paymentMethodTypeSchema } from '../../../shared/catalog/vocabulary';

const { name, ...profile } = newShape(storeFields);

export const newStoreSchema = z.strictObject({ name, environment: environmentSchema, ...profile });
export const storePatchSchema = z.strictObject(patchShape(storeFields));

/** `position` defaults to after the last. */
export const newPaymentMethodSchema = z.strictObject({
  type: paymentMethodTypeSchema,
  name: lineField(120),
  instructions: textField(5_000).nullish(),
  position: z.int().min(1).max(10_000).optional(),
});

export type NewStore = z.output<typeof newStoreSchema>;
export type StorePatch = z.output<typeof storePatchSchema>;
export type NewPaymentMethod = z.output<typeof newPaymentMethodSchema>;
