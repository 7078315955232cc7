import { describe, expect, it } from 'vitest'
import { omitSecrets } from './secrets.ts'

describe('omitSecrets', () => {
  it('omits texts that are secrets by name, at any depth', () => {
    const document = {
      mxedge_mgmt: { root_password: 'a', fips_enabled: true },
      cloudshark: { apitoken: 'b', url: 'https://c' },
      servers: [{ secret: 'd', host: 'e' }, 'f'],
      device_cert: { cert: 'g', key: 'h' },
      password_policy: { enabled: true },
    }
    expect(omitSecrets(document)).toEqual({
      mxedge_mgmt: { fips_enabled: true },
      cloudshark: { url: 'https://c' },
      servers: [{ host: 'e' }, 'f'],
      device_cert: { cert: 'g' },
      password_policy: { enabled: true },
    })
  })

  it('omits several secrets under one name, headers, and the communities of SNMP', () => {
    const document = {
      ospf_areas: { 0: { networks: { corp: { auth_type: 'md5', auth_keys: { 1: 'a', 2: 'b' } } } } },
      snmp_config: { v2c_config: [{ community_name: 'c', view: 'all' }] },
      radius: { secret: ['d', 'e'], psks: [{ passphrase: 'f' }], keywrap_kek: 'g' },
      requests: { headers: { Authorization: 'h' }, method: 'get' },
      routing: { community: ['65000:1'], community_vlan_id: 7 },
    }
    expect(omitSecrets(document)).toEqual({
      ospf_areas: { 0: { networks: { corp: { auth_type: 'md5' } } } },
      snmp_config: { v2c_config: [{ view: 'all' }] },
      radius: {},
      requests: { method: 'get' },
      routing: { community: ['65000:1'], community_vlan_id: 7 },
    })
  })

  it.each([
    ['https://user:hidden@proxy.test:3128/a@b', 'https://proxy.test:3128/a@b'],
    ['user:hidden@proxy.test:3128', 'proxy.test:3128'],
    ['https://proxy.test/?mail=a@b', 'https://proxy.test/?mail=a@b'],
    ['', ''],
  ])('omits the login in the address %j', (url, shown) => {
    expect(omitSecrets({ deep: [{ proxy: { url, pool_url: url, note: url } }] })).toEqual({
      deep: [{ proxy: { url: shown, pool_url: shown, note: url } }],
    })
  })

  it('reads a value at any depth a few times at most, and does not change the document', () => {
    let reads = 0
    const deepest = {
      get value() {
        reads += 1
        return 'a'
      },
      psk: 'b',
    }
    const nest = (inside: unknown): object => Array.from({ length: 50 }).reduce<object>((a) => ({ a }), { inside })
    const document = nest(deepest)
    expect(omitSecrets({ document })).toEqual({ document: nest({ value: 'a' }) })
    expect(reads).toBeLessThan(5)
    expect(document).toEqual(nest({ value: 'a', psk: 'b' }))
  })

  it('keeps what the request wrote, where the document has the same in the same place', () => {
    const url = 'https://user:login@example.test/'
    const document = { psk: 'a', wlans: [{ psk: 'b', id: 1 }, { psk: 'c' }], proxy: { url }, auth_keys: { '1': 'd' } }
    expect(omitSecrets(document, document)).toEqual(document)
    expect(omitSecrets(document, { wlans: [{ psk: 'c' }, { psk: 'c' }], psk: { a: 'a' }, proxy: url })).toEqual({
      wlans: [{ id: 1 }, { psk: 'c' }],
      proxy: { url: 'https://example.test/' },
    })
  })
})
