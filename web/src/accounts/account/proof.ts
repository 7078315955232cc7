import type { RequestField } from '../../display/request-form.tsx'

/** What the server asks for some time after a sign-in, before it grants access anew. */
export const proofField: RequestField = {
  name: 'password',
  label: 'Your password',
  description: 'Needed if you signed in more than 15 minutes ago',
  type: 'password',
  autoComplete: 'current-password',
}

/** Leaves out what was not typed. */
export function withoutEmpty<Values extends Readonly<Record<string, string>>>(values: Values): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Values>
}
