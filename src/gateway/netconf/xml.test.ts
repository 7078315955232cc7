import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { XmlError, childOf, encodeXml, findAll, parseXml, textOf } from './xml.ts'

const reply = `<?xml version="1.0" encoding="UTF-8"?>
<nc:rpc-reply xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" xmlns:junos="http://xml.juniper.net/junos/23.4R2/junos"
  nc:message-id="7">
  <system-uptime-information xmlns="http://xml.juniper.net/junos/23.4R2/junos">
    <system-booted-time><time-length junos:seconds="386">6:26</time-length></system-booted-time>
    <name>a &amp; b &#33;</name><empty/><raw><![CDATA[<x>]]></raw>
  </system-uptime-information>
</nc:rpc-reply>`

describe('a document', () => {
  test('is parsed by local names', () => {
    const root = parseXml(reply)
    expect(root.name).toBe('rpc-reply')
    expect(root.attributes['message-id']).toBe('7')
    expect(findAll(root, 'time-length').map(({ attributes }) => attributes['seconds'])).toEqual(['386'])
    expect(textOf(root, 'name')).toBe('a & b !')
    expect(textOf(root, 'raw')).toBe('<x>')
    expect(textOf(root, 'empty')).toBeNull()
    expect(textOf(root, 'missing')).toBeNull()
    expect(childOf(root, 'time-length')).toBeUndefined()
  })

  test('that was encoded has the texts that went in', () => {
    const text = fc.string({ unit: 'binary' }).map((value) => value.replace(/[^\n -\ud7ff\ue000-\ufffd]/gu, '').trim())
    fc.assert(
      fc.property(text, text, (a, b) => {
        const root = parseXml(encodeXml('rpc', { 'file-copy': { source: a, destination: b }, yes: true, n: 3 }))
        const copy = childOf(root, 'file-copy')
        expect(copy?.children.map((child) => child.text)).toEqual([a, b])
        expect(root.children.map(({ name }) => name)).toEqual(['file-copy', 'yes', 'n'])
      }),
    )
  })

  test.each([
    ['with a document type', '<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>'],
    ['with an external one', '<!DOCTYPE r SYSTEM "file:///etc/passwd"><r/>'],
    ['with an unknown entity', '<r>&nbsp;</r>'],
    ['that is nested too deeply', '<a>'.repeat(40) + '</a>'.repeat(40)],
    ['with too many elements', `<r>${'<a/>'.repeat(20_001)}</r>`],
    ['with too many attributes', `<r ${Array.from({ length: 40 }, (_, n) => `a${n}="1"`).join(' ')}/>`],
    ['that is cut off', '<r><a>'],
    ['with two roots', '<r/><r/>'],
    ['without an element', '   '],
    ['with crossed elements', '<r><a></r></a>'],
  ])('%s is refused', (_, source) => {
    expect(() => parseXml(source)).toThrow(XmlError)
  })

  test('either parses or ends with an XmlError, whatever was changed in it', () => {
    const change = fc.record({ at: fc.nat(reply.length), cut: fc.nat(20), insert: fc.string({ maxLength: 10 }) })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const source = changes.reduce((s, { at, cut, insert }) => s.slice(0, at) + insert + s.slice(at + cut), reply)
        try {
          parseXml(source)
        } catch (error) {
          expect(error).toBeInstanceOf(XmlError)
        }
      }),
    )
  })

  test('has no property that the device did not send', () => {
    expect(parseXml('<r toString="x"/>').attributes['constructor']).toBeUndefined()
  })
})
