import { mxedgeEventTypes } from '../../src/events/append-mxedge.ts'
import { deviceEventTypes } from '../../src/events/device-event-types.ts'
import { upgradeEventTypes } from '../../src/events/upgrade-event-types.ts'

const HEAD = `# Types of events

Types of the events that happen to devices, edge appliances and upgrades, in webhooks and searches. Made from the source by
\`npm test -- test/http/openapi.test.ts --update\`: do not edit. The
[events of the service itself](../operations.md#what-the-service-reports-of-itself) and the [alarms](../operations.md#alarms)
have tables of their own.`

/** The page of the reference with all types of events, made from their declarations. */
export function makeEventTypes(): string {
  return `${[
    HEAD,
    '## Devices',
    'Topics `device-events` and `device-updowns`, and `GET /const/device_events`. The names begin with the type of the device: `AP_`\nfor access points, `SW_` for switches, `GW_` for gateways.',
    tableOf(deviceRows()),
    '## Edge appliances',
    'Topic `mxedge-events`, and `GET /const/mxedge_events`.',
    tableOf(mxedgeEventTypes().map(({ key, description }) => [code(key), description])),
    '## Upgrades',
    'Topic `upgrade-events`, and the `decisions` of a report, which are those of a person or the engine.',
    tableOf(Object.entries(upgradeEventTypes).map(([key, description]) => [code(key), description])),
  ].join('\n\n')}\n`
}

/** One row for each event, with the types of devices to which it happens. */
function deviceRows(): (readonly [string, string])[] {
  const byName = Map.groupBy(deviceEventTypes(), ({ key }) => key.slice(key.indexOf('_')))
  return [...byName.values()].map((types) => [
    types.map(({ key }) => code(key)).join(', '),
    types[0]?.description ?? '',
  ])
}

function tableOf(rows: readonly (readonly [string, string])[]): string {
  return ['| type | when |', '|---|---|', ...rows.map(([type, description]) => `| ${type} | ${description} |`)].join(
    '\n',
  )
}

function code(text: string): string {
  return `\`${text}\``
}
