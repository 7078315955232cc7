import type { Searches } from './measure.ts'

interface Filled {
  readonly orgId: string
  readonly siteId: string
  readonly webhookId: string
  readonly adminId: string
  readonly mac: string
}

/** The measured requests. */
export function eventSearchesOf({ orgId, siteId, webhookId, adminId, mac }: Filled): Searches {
  const org = `/api/v1/orgs/${orgId}`
  const site = `/api/v1/sites/${siteId}`
  return {
    device_events: deviceEvents(org, site, mac),
    system_events: systemEvents(org, site),
    audit_records: auditRecords(org, { siteId, adminId }),
    deliveries: deliveries(`${org}/webhooks/${webhookId}/events`),
  }
}

function deviceEvents(org: string, site: string, mac: string): Record<string, string> {
  const search = `${org}/devices/events/search?limit=100`
  return {
    device_events: search,
    device_events_of_an_hour: `${search}&duration=1h`,
    device_events_of_a_week: `${search}&duration=1w`,
    device_events_page_100: `${search}&page=100`,
    device_events_of_all_types: `${search}&device_type=all`,
    device_events_by_type: `${search}&type=AP_RESTARTED`,
    device_events_by_type_of_a_week: `${search}&type=AP_RESTARTED&duration=1w`,
    device_events_by_prefix_of_type: `${search}&type=AP_PORT*`,
    device_events_by_mac: `${search}&mac=${mac}&duration=30d`,
    device_events_by_text: `${search}&text=event+77`,
    device_events_oldest_first: `${search}&sort=timestamp`,
    device_events_sorted_by_type: `${search}&sort=type`,
    device_events_last_by_mac: `${search}&last_by=mac`,
    site_device_events: `${site}/devices/events/search?limit=100`,
    site_device_events_of_a_month: `${site}/devices/events/search?limit=100&duration=30d`,
    count_device_events_by_type: `${org}/devices/events/count?distinct=type`,
    count_device_events_by_type_of_a_week: `${org}/devices/events/count?distinct=type&duration=1w`,
    count_device_events_by_site: `${org}/devices/events/count?distinct=site_id`,
    count_device_events_by_model: `${org}/devices/events/count?distinct=model`,
    count_device_events_by_mac: `${org}/devices/events/count?distinct=mac`,
    site_count_device_events_by_type: `${site}/devices/events/count?distinct=type&duration=1w`,
  }
}

function systemEvents(org: string, site: string): Record<string, string> {
  const search = `${org}/events/system/search?limit=100`
  return {
    org_events: `${org}/events/search?limit=100`,
    system_events: search,
    system_events_of_a_week: `${search}&duration=1w`,
    system_events_by_type: `${search}&type=DEVICE_UPTIME_MISSING`,
    system_events_sorted_by_severity: `${search}&sort=severity`,
    site_system_events: `${site}/events/system/search?limit=100&duration=1w`,
    count_system_events_by_type: `${org}/events/system/count?distinct=type`,
    count_system_events_by_severity: `${org}/events/system/count?distinct=severity`,
    count_system_events_by_mac: `${org}/events/system/count?distinct=mac`,
  }
}

function auditRecords(org: string, { siteId, adminId }: Pick<Filled, 'siteId' | 'adminId'>): Record<string, string> {
  const list = `${org}/logs?limit=100`
  return {
    audit_records: list,
    audit_records_of_a_week: `${list}&duration=1w`,
    audit_records_page_100: `${list}&page=100`,
    audit_records_by_admin: `${list}&admin_id=${adminId}&duration=1w`,
    audit_records_by_name: `${list}&admin_name=admin7@`,
    audit_records_by_message: `${list}&message=Delete`,
    audit_records_of_a_site: `${list}&site_id=${siteId}&duration=30d`,
    audit_records_oldest_first: `${list}&sort=timestamp`,
    audit_records_sorted_by_message: `${list}&sort=message`,
    count_audit_records_by_admin: `${org}/logs/count?distinct=admin_id`,
    count_audit_records_by_message: `${org}/logs/count?distinct=message`,
  }
}

function deliveries(webhook: string): Record<string, string> {
  const search = `${webhook}/search?limit=100`
  return {
    deliveries: search,
    deliveries_of_a_week: `${search}&duration=1w`,
    deliveries_that_failed: `${search}&status=failure`,
    deliveries_that_failed_in_a_week: `${search}&status=failure&duration=1w`,
    deliveries_by_status_code: `${search}&status_code=503`,
    deliveries_by_topic: `${search}&topic=audits`,
    deliveries_by_error: `${search}&error=timeout`,
    deliveries_oldest_first: `${search}&sort=timestamp`,
    deliveries_sorted_by_duration: `${search}&sort=-duration_ms`,
    count_deliveries_by_status: `${webhook}/count?distinct=status`,
    count_deliveries_by_status_code: `${webhook}/count?distinct=status_code`,
    count_deliveries_by_topic_of_a_week: `${webhook}/count?distinct=topic&duration=1w`,
  }
}
