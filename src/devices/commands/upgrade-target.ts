import type { TargetState } from '../../platform/schema/rollout.ts'

/** States of an upgrade's target in which its device has been commanded and the outcome is not known yet. */
export const inFlightStates = [
  'dl_requested',
  'downloading',
  'rebooting',
  'verifying',
] as const satisfies readonly TargetState[]
