import { expect, test } from 'vitest'
import { liveProgressOf, progressOf } from './upgrade-progress.ts'

test('devices that an upgrade was only to download to count as upgraded once it has ended', () => {
  const ofSite = (status: string, targets: Readonly<Record<string, readonly string[] | number>>) => ({
    upgrade: { status, targets },
  })
  const upgrades = [
    ofSite('completed', { total: 2, downloaded: ['a'], skipped: ['b'] }),
    ofSite('downloaded', { total: 2, downloaded: ['c'], scheduled: ['d'] }),
  ]
  expect(progressOf('ssr', { upgrades })).toMatchObject({
    total: 4,
    counts: { scheduled: 1, downloaded: 1, upgraded: 1, skipped: 1 },
  })
  const followed = { kind: 'ssr', id: 'one', channel: '/orgs/one/ssr/upgrade' } as const
  const live = (status: string) =>
    liveProgressOf(followed, { upgrade_id: 'one', status, counts: { total: 2, downloaded: 2 } })?.counts
  expect(live('downloaded')).toMatchObject({ downloaded: 2, upgraded: 0 })
  expect(live('completed')).toMatchObject({ downloaded: 0, upgraded: 2 })
})
