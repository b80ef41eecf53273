import { z } from 'zod';
import { lineField, textField } from '../../../shared/catalog/input-rules';
import { environmentSchema, paymentMethodTypeSchema } from '../../../shared/catalog/vocabulary';

/** The limits are those of listings, where decisions name none. */
const name = lineField(120);

const profile = {
  description: textField(5_000).nullable(),
  businessHours: z
    .array(z.strictObject({ day: lineField(40), hours: lineField(80) }))
    .max(50)
    .nullable(),
  contact: z
    .strictObject({
      address: lineField(300).optional(),
      phone: lineField(40).optional(),
      email: lineField(254).pipe(z.email()).optional(),
    })
    .nullable(),
  policies: z
    .strictObject({
      shipping: textField(5_000).optional(),
      returns: textField(5_000).optional(),
      satisfaction: textField(5_000).optional(),
    })
    .nullable(),
  ruc: lineField(20).nullable(),
};

const profilePatch = z.object(profile).partial().shape;

export const newStoreSchema = z.strictObject({ name, environment: environmentSchema, ...profilePatch });
export const storePatchSchema = z.strictObject({ name: name.optional(), ...profilePatch });

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
