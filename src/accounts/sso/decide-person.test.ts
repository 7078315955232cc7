import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WirePrivilege } from '../../access/tables.ts'
import type { SsoDocument } from '../tables.ts'
import { decidePerson } from './decide-person.ts'

const write: WirePrivilege = { scope: 'org', role: 'write' }
const read: WirePrivilege = { scope: 'org', role: 'read' }
const roles = new Map([
  ['ops', [write]],
  ['guests', [read]],
  ['both', [read, write]],
])

function decide(attributes: Record<string, string[]>, doc: Partial<SsoDocument> = {}, nameId = 'Ada@Example.test') {
  return decidePerson({
    assertion: { nameId, attributes: new Map(Object.entries(attributes)) },
    doc: { name: 'Company', ...doc },
    roles,
  })
}

describe('roles', () => {
  it('give their privileges, each once', () => {
    expect(decide({ Role: ['guests', 'both', 'guests'] })).toMatchObject({ kind: 'person', privileges: [read, write] })
  })

  it('come from the attribute that the SSO sets', () => {
    expect(decide({ Role: ['ops'], groups: ['guests'] }, { role_attr_from: 'groups' })).toMatchObject({
      privileges: [read],
    })
  })

  it('refuse the login if one is unknown, unless unknown roles are ignored', () => {
    const named = { Role: ['ops', 'king'] }
    expect(decide(named)).toMatchObject({ kind: 'refuse', why: expect.stringContaining('"king"') })
    expect(decide(named, { default_role: 'guests' })).toMatchObject({ kind: 'refuse' })
    expect(decide(named, { ignore_unmatched_roles: true })).toMatchObject({ privileges: [write] })
  })

  it('fall back to the default if none is known', () => {
    expect(decide({})).toMatchObject({ kind: 'refuse' })
    expect(decide({}, { default_role: 'guests' })).toMatchObject({ privileges: [read] })
    expect(decide({ Role: ['', ' '] }, { default_role: 'guests' })).toMatchObject({ privileges: [read] })
    const lenient = { default_role: 'guests', ignore_unmatched_roles: true }
    expect(decide({ Role: ['king'] }, lenient)).toMatchObject({ privileges: [read] })
    expect(decide({}, { default_role: 'gone' })).toMatchObject({ kind: 'refuse' })
    expect(decide({ Role: ['king'] }, { ignore_unmatched_roles: true })).toMatchObject({ kind: 'refuse' })
  })

  it('are the common names of distinguished names if the SSO says so', () => {
    const cn = { role_attr_extraction: 'CN' }
    expect(decide({ Role: ['CN=ops,OU=groups,DC=example'] }, cn)).toMatchObject({ privileges: [write] })
    expect(decide({ Role: ['OU=groups, cn = guests '] }, cn)).toMatchObject({ privileges: [read] })
    for (const name of ['OU=ops', 'CN=ops,CN=guests', 'ops', 'OU=a\\,CN=ops'])
      expect(decide({ Role: [name] }, cn), name).toMatchObject({ kind: 'refuse' })
    expect(decide({ Role: ['CN=ops'] })).toMatchObject({ kind: 'refuse' })
  })

  it('never give a privilege that no role of the organization gives', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('ops', 'guests'))), fc.boolean(), (names, ignore) => {
        const decision = decide({ Role: names }, { ignore_unmatched_roles: ignore })
        if (decision.kind === 'refuse') return
        expect(decision.privileges.includes(write)).toBe(names.some((name) => name.trim() === 'ops'))
        expect(decision.privileges.includes(read)).toBe(names.some((name) => name.trim() === 'guests'))
      }),
    )
  })
})

describe('a person', () => {
  const Role = ['ops']

  it('is named by the attributes that providers use', () => {
    for (const names of [
      { FirstName: ['Ada'], LastName: ['Lovelace'] },
      { givenName: ['Ada'], sn: ['Lovelace'] },
      { 'urn:oid:2.5.4.42': ['Ada'], 'urn:oid:2.5.4.4': ['Lovelace'] },
    ])
      expect(decide({ Role, ...names })).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace' })
    expect(decide({ Role, FirstName: ['x'.repeat(300)] })).toMatchObject({ firstName: 'x'.repeat(100), lastName: '' })
  })

  it('has the address of the NameID, or of an attribute if the NameID is not an address', () => {
    expect(decide({ Role })).toMatchObject({ email: 'ada@example.test' })
    expect(decide({ Role }, {}, 'ada')).toMatchObject({ kind: 'refuse' })
    const unspecified = { nameid_format: 'unspecified' } as const
    expect(decide({ Role, mail: ['Ada@Corp.test'] }, unspecified, 'u-17')).toMatchObject({ email: 'ada@corp.test' })
    expect(decide({ Role }, unspecified, 'u-17')).toMatchObject({ kind: 'refuse' })
    expect(decide({ Role, mail: ['two@a.test, three@b.test'] }, unspecified, 'u-17')).toMatchObject({ kind: 'refuse' })
  })
})
