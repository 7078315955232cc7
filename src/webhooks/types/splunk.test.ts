import { expect, it } from 'vitest'
import { splunkType } from './splunk.ts'

it('encodes events without rounding integers that a double cannot hold', () => {
  const encoder = splunkType.open({ url: 'https://splunk.test:8088/services/collector', splunk_token: 't' }, 'webhook')
  const body = Buffer.from('{"topic":"audits","events":[{"after":{"counter":12345678901234567890}}]}')
  const encoded = encoder.encodeBody({ id: 'message', topic: 'audits', body }).toString('utf8')
  expect(encoded).toContain('"event":{"after":{"counter":12345678901234567890}}')
})
