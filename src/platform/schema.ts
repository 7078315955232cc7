import type * as access from './schema/access.ts'
import type * as accounts from './schema/accounts.ts'
import type * as devices from './schema/devices.ts'
import type * as firmware from './schema/firmware.ts'
import type * as maps from './schema/maps.ts'
import type * as mxedges from './schema/mxedges.ts'
import type * as orgs from './schema/orgs.ts'
import type * as rollout from './schema/rollout.ts'
import type * as service from './schema/service.ts'
import type * as storage from './schema/storage.ts'
import type * as webhooks from './schema/webhooks.ts'

/** Every table, by its name in camel case; a file of schema/ mirrors a file of migrations/. */
export interface Schema {
  serviceClock: service.ServiceClockTable
  org: access.OrgTable
  site: access.SiteTable
  admin: access.AdminTable
  privilege: access.PrivilegeTable
  apiToken: access.ApiTokenTable
  session: access.SessionTable
  auditLog: access.AuditLogTable
  webhookOutbox: access.WebhookOutboxTable
  pendingRegistration: accounts.PendingRegistrationTable
  mailedToken: accounts.MailedTokenTable
  mailSent: accounts.MailSentTable
  invite: accounts.InviteTable
  recoveryCode: accounts.RecoveryCodeTable
  loginFailure: accounts.LoginFailureTable
  accountLog: accounts.AccountLogTable
  oauthIdentity: accounts.OauthIdentityTable
  oauthFlow: accounts.OauthFlowTable
  oauthCode: accounts.OauthCodeTable
  sso: accounts.SsoTable
  ssoRole: accounts.SsoRoleTable
  ssoFailure: accounts.SsoFailureTable
  samlRequest: accounts.SamlRequestTable
  samlAssertionUsed: accounts.SamlAssertionUsedTable
  orgSetting: accounts.OrgSettingTable
  siteGroup: orgs.SiteGroupTable
  siteSetting: orgs.SiteSettingTable
  deviceOutage: orgs.DeviceOutageTable
  deviceRegistry: devices.DeviceRegistryTable
  device: devices.DeviceTable
  deviceStatus: devices.DeviceStatusTable
  gatewayNode: devices.GatewayNodeTable
  deviceSession: devices.DeviceSessionTable
  deviceCommand: devices.DeviceCommandTable
  deviceEvent: devices.DeviceEventTable
  deviceImage: devices.DeviceImageTable
  deviceCount: devices.DeviceCountTable
  mxedgeRegistry: mxedges.MxedgeRegistryTable
  mxcluster: mxedges.MxclusterTable
  mxedge: mxedges.MxedgeTable
  mxedgeEvent: mxedges.MxedgeEventTable
  mxedgeImage: mxedges.MxedgeImageTable
  firmwareImage: firmware.FirmwareImageTable
  firmwareVersion: firmware.FirmwareVersionTable
  firmwareDownload: firmware.FirmwareDownloadTable
  siteMap: maps.SiteMapTable
  mapStack: maps.MapStackTable
  storageUsage: storage.StorageUsageView
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
