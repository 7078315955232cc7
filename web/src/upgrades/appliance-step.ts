import type { Schemas } from '../api/client.ts'

type Step = Schemas['MxedgeUpgradeTarget']['steps'][number]

/** Returns a step of an appliance in words, such as "tunterm 1.0.0 → 2.0.0". */
export function stepText({ service, from_version: from, to_version: to }: Step): string {
  const what = service ?? 'distribution'
  return from === undefined ? `${what} ${to}` : `${what} ${from} → ${to}`
}
