import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import { parseExactJson } from '../../platform/json/exact-json.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { headerFault, replaceHeaders } from '../requests/headers.ts'
import {
  type Encodable,
  type ReceiverType,
  allHeaders,
  explanationOf,
  parseJsonObject,
  plainType,
  requireText,
} from './receiver-type.ts'

/** The HTTP Event Collector of Splunk. */
export const splunkType: ReceiverType = {
  ...plainType,
  secrets: ['splunk_token'],
  check(fields) {
    const token = requireText(fields, 'splunk_token', 'splunk')
    const fault = headerFault({ Authorization: token })
    if (fault !== null) throw invalidField('splunk_token', fault)
    return {}
  },
  open(fields, webhookId) {
    const added = {
      Authorization: `Splunk ${String(fields['splunk_token'])}`,
      // Tokens with acknowledgment refuse requests without a channel. Others ignore it.
      'X-Splunk-Request-Channel': webhookId,
    }
    return {
      grant: null,
      encodeBody: takesAnyText(String(fields['url'])) ? ({ body }) => body : encodeEvents,
      createRequest: ({ common, signatures, body }) => ({
        common: null,
        headers: replaceHeaders(allHeaders({ common, headers: signatures }), added),
        body,
      }),
    }
  },
  explain(body) {
    const { text, code } = parseJsonObject(body) ?? {}
    return explanationOf(typeof text === 'string' && typeof code === 'number' ? `${text} (code ${code})` : null)
  },
}

/** `/services/collector/raw` stores the lines that it gets; other addresses take events in Splunk's envelope only. */
function takesAnyText(url: string): boolean {
  return new URL(url).pathname.split('/').includes('raw')
}

/** Returns one envelope per line. Searches can drop repeated events by the id of the message. */
function encodeEvents({ id, topic, body }: Encodable): Buffer {
  // In the format of the router.
  const { events } = parseExactJson(body.toString('utf8')) as { readonly events: readonly unknown[] }
  const fields = { topic, webhook_id: id }
  const envelopeOf = (event: unknown): Document =>
    Object.assign(timeOf(event), { source: 'signalbox', sourcetype: `signalbox:${topic}`, event, fields })
  return Buffer.from(events.map((event) => JSON.stringify(envelopeOf(event))).join('\n'))
}

function timeOf(event: unknown): Document {
  const timestamp = isObject(event) ? event['timestamp'] : undefined
  return typeof timestamp === 'number' ? { time: timestamp } : {}
}
