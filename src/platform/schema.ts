import type * as access from './schema/access.ts'
import type * as devices from './schema/devices.ts'
import type * as firmware from './schema/firmware.ts'
import type * as rollout from './schema/rollout.ts'
import type * as webhooks from './schema/webhooks.ts'

/** Every table, by its name in camel case; a file of schema/ mirrors a file of migrations/. */
export interface Schema {
  org: access.OrgTable
  site: access.SiteTable
  admin: access.AdminTable
  privilege: access.PrivilegeTable
  apiToken: access.ApiTokenTable
  session: access.SessionTable
  auditLog: access.AuditLogTable
  webhookOutbox: access.WebhookOutboxTable
  deviceRegistry: devices.DeviceRegistryTable
  device: devices.DeviceTable
  deviceStatus: devices.DeviceStatusTable
  gatewayNode: devices.GatewayNodeTable
  deviceSession: devices.DeviceSessionTable
  deviceCommand: devices.DeviceCommandTable
  deviceEvent: devices.DeviceEventTable
  firmwareImage: firmware.FirmwareImageTable
  firmwareVersion: firmware.FirmwareVersionTable
  firmwareDownload: firmware.FirmwareDownloadTable
  orgUpgrade: rollout.OrgUpgradeTable
  siteUpgrade: rollout.SiteUpgradeTable
  upgradeTarget: rollout.UpgradeTargetTable
  activeUpgradeTarget: rollout.ActiveUpgradeTargetTable
  webhook: webhooks.WebhookTable
  webhookMessage: webhooks.WebhookMessageTable
  webhookLane: webhooks.WebhookLaneTable
  webhookDelivery: webhooks.WebhookDeliveryTable
  webhookBody: webhooks.WebhookBodyTable
}
