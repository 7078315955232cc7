import { alarmGroups, alarmSeverities } from '../../events/alarms/alarm-types.ts'
import { choice, flag, id, part, text } from '../../http/lists/filters.ts'

/** Groups that clients request but no alarm has: a search for them finds nothing. */
const groupsOfClients = ['certificate_expiry', 'marvis']

export const siteAlarmFilters = {
  type: text(),
  group: choice([...alarmGroups, ...groupsOfClients]),
  severity: choice(alarmSeverities),
  status: choice(['open', 'resolved']),
  acked: flag({ about: 'true if it is acknowledged' }),
  ack_admin_name: part(),
}

export const orgAlarmFilters = { ...siteAlarmFilters, site_id: id() }

export const alarmSorts = [
  'timestamp',
  'last_seen',
  'id',
  'org_id',
  'site_id',
  'type',
  'group',
  'severity',
  'status',
  'count',
  'text',
  'acked',
  'acked_time',
  'ack_admin_id',
  'ack_admin_name',
  'note',
  'resolved_time',
  'aps',
  'switches',
  'gateways',
  'hostnames',
  'upgrade_id',
  'webhook_id',
] as const

export const alarmCounts = ['type', 'group', 'severity', 'status', 'acked', 'ack_admin_name', 'site_id'] as const
