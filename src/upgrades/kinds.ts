import type { UpgradeKind } from '../rollout/rollout.ts'

/**
 * The kinds of upgrades that the engine of devices carries out, with the paths of their lists, the names of their
 * operations and the words that end the summaries of these.
 */
export const kinds = [
  { kind: 'device', path: '/devices/upgrade', name: 'Device', words: '' },
  { kind: 'ssr', path: '/ssr/upgrade', name: 'Ssr', words: ' of SSR routers' },
] as const

export const paths: Readonly<Record<UpgradeKind, string>> = { device: kinds[0].path, ssr: kinds[1].path }
