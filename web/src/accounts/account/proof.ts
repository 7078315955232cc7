import type { RequestField } from '../../display/forms/request-form.tsx'

/** The proof that the server requires some time after a sign-in, before it grants further access. */
export const proofField: RequestField = {
  name: 'password',
  label: 'Your password',
  description: 'Needed if you signed in more than 15 minutes ago',
  type: 'password',
  autoComplete: 'current-password',
}

/** Leaves out fields that were not filled in. */
export function withoutEmpty<Values extends Readonly<Record<string, string>>>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Values>
}
