import { expect, it } from 'vitest'
import { subjectOf } from './subject.ts'

const known = (siteId: string): boolean => siteId === 's'

it('finds what a change is about', () => {
  const site = { kind: 'site', siteId: 's' }
  const device = '00000000-0000-0000-1000-02516e000001'
  const samples = [
    [
      { site_id: null, after: { upgrade_id: 'u' } },
      { kind: 'upgrade', id: 'u' },
    ],
    [
      { site_id: null, after: { id: 'e', type: 'UPGRADE_PAUSED' } },
      { kind: 'upgrade', id: 'e' },
    ],
    // An upgrade stays when one of its sites is deleted.
    [
      { site_id: 'gone', after: { upgrade_id: 'u' } },
      { kind: 'upgrade', id: 'u' },
    ],
    [
      { site_id: null, after: { webhook_id: 'w' } },
      { kind: 'webhook', id: 'w', siteId: null },
    ],
    [
      { site_id: 's', after: { webhook_id: 'w' } },
      { kind: 'webhook', id: 'w', siteId: 's' },
    ],
    [
      { site_id: 's', device_id: device },
      { kind: 'device', mac: '02516e000001', siteId: 's' },
    ],
    // The site has lost the device.
    [
      {
        site_id: 's',
        device_id: device,
        before: { mac: '02516e000001', site_id: 's' },
        after: { mac: '02516e000001' },
      },
      site,
    ],
    [{ site_id: 's', before: { name: 'a' }, after: { name: 'b' } }, site],
  ] as const
  for (const [entry, subject] of samples) expect(subjectOf(entry, known)).toEqual(subject)
})

it('finds nothing that is deleted or has no page', () => {
  const samples = [
    { site_id: null, after: { name: 'My network' } },
    { site_id: null, after: { id: 'f', type: 'firmware' } },
    { site_id: null, before: { webhook_id: 'w' } },
    { site_id: 's', before: { webhook_id: 'w' } },
    { site_id: 'gone', device_id: '00000000-0000-0000-1000-02516e000001' },
    { site_id: 'gone', after: { webhook_id: 'w' } },
    { site_id: 'gone' },
  ]
  for (const entry of samples) expect(subjectOf(entry, known)).toBeNull()
})
