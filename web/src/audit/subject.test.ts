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
    // Sites, maps, devices and appliances may have fields of any name.
    [
      {
        message: 'Update Site "b"',
        site_id: 's',
        before: { name: 'a' },
        after: { name: 'b', upgrade_id: 'u', mxedge_id: 'm', map_id: 'p' },
      },
      site,
    ],
    [{ message: 'Update Site Settings "b"', site_id: 's', after: { upgrade_id: 'u' } }, site],
    [{ message: 'Update Site "b"', site_id: 's', before: { webhook_id: 'v' }, after: { webhook_id: 'w' } }, site],
    [
      {
        message: 'Update device AP-1',
        site_id: 's',
        device_id: device,
        before: { webhook_id: 'v' },
        after: { upgrade_id: 'u', mxedge_id: 'm', webhook_id: 'w', sha256: 'a', version: '1' },
      },
      { kind: 'device', mac: '02516e000001', siteId: 's' },
    ],
    [
      { message: 'Add Map "Hall"', site_id: 's', after: { map_id: 'p', upgrade_id: 'u' } },
      { kind: 'map', id: 'p', siteId: 's' },
    ],
    [
      { site_id: null, after: { mxedge_id: 'm', upgrade_id: 'u' } },
      { kind: 'appliance', id: 'm' },
    ],
    [
      {
        message: 'Update edge appliance "North"',
        site_id: null,
        before: { name: 'N', mxedge_id: 'm', webhook_id: 'v' },
        after: { name: 'North', mxedge_id: 'm', webhook_id: 'w' },
      },
      { kind: 'appliance', id: 'm' },
    ],
    [{ message: 'Delete edge appliance "North"', site_id: 's', before: { mxedge_id: 'm', webhook_id: 'w' } }, site],
    // A webhook may have fields of any name.
    [
      { site_id: null, after: { upgrade_id: 'u', mxedge_id: 'm', webhook_id: 'w' } },
      { kind: 'webhook', id: 'w', siteId: null },
    ],
    [
      { site_id: null, after: { services: [], mxedge_id: 'm' } },
      { kind: 'appliance', id: 'm' },
    ],
    // An appliance stays when its site is deleted.
    [
      { site_id: 'gone', after: { mxedges: [{ id: 'm', site_id: 's' }] } },
      { kind: 'appliance', id: 'm' },
    ],
    [
      { site_id: 's', before: { name: 'a', map_id: 'p' }, after: { name: 'b', map_id: 'p' } },
      { kind: 'map', id: 'p', siteId: 's' },
    ],
    [
      { site_id: 's', device_id: device, after: { map_id: 'p' } },
      { kind: 'device', mac: '02516e000001', siteId: 's' },
    ],
    // The site has lost the map.
    [{ site_id: 's', before: { name: 'a', map_id: 'p' } }, site],
    [{ site_id: null, after: { id: 'f', version: '3.2.0', sha256: 'ab' } }, { kind: 'firmware' }],
  ] as const
  for (const [entry, subject] of samples) expect(subjectOf({ message: '', ...entry }, known)).toEqual(subject)
})

it('finds nothing that is deleted or has no page', () => {
  const samples = [
    { site_id: null, after: { name: 'My network' } },
    { message: 'Update Org "My network"', site_id: null, after: { name: 'My network', upgrade_id: 'u' } },
    { message: 'Update Org Settings', site_id: null, after: { upgrade_id: 'u' } },
    { message: 'Update edge appliance cluster "North"', site_id: null, after: { name: 'North', upgrade_id: 'u' } },
    {
      message: 'Add Site Group "North"',
      site_id: null,
      after: { name: 'North', upgrade_id: 'u', sha256: 'a', version: '1' },
    },
    { site_id: null, after: { id: 'f', type: 'firmware' } },
    { site_id: null, before: { webhook_id: 'w' } },
    { site_id: 's', before: { webhook_id: 'w', upgrade_id: 'u' } },
    { site_id: null, before: { name: 'Edge', mxedge_id: 'm' } },
    { site_id: null, after: { mxedges: [{ id: 'm' }, { id: 'n' }] } },
    { site_id: null, after: { mxedges: [null] } },
    { site_id: null, before: { id: 'f', versions: [] } },
    { site_id: 'gone', device_id: '00000000-0000-0000-1000-02516e000001' },
    { site_id: 'gone', after: { webhook_id: 'w' } },
    { site_id: 'gone' },
  ]
  for (const entry of samples) expect(subjectOf({ message: '', ...entry }, known)).toBeNull()
})
