/** An operation of the contract that is not served: it answers 404. */
export interface Absence {
  readonly operations: readonly string[]
  /** True if it is planned. */
  readonly isPlanned: boolean
  readonly why: string
}

export const absences: readonly Absence[] = [
  {
    operations: ['optimizeInstallerRrm'],
    isPlanned: false,
    why: 'Devices choose their channels: there is no radio resource management',
  },
  {
    operations: [
      ...['createInstallerVirtualChassis', 'updateInstallerVirtualChassisMember', 'changeSiteSwitchVcPortMode'],
      ...['createOrgGatewayHaCluster', 'deleteOrgGatewayHaCluster'],
    ],
    isPlanned: true,
    why: 'Members are joined on the devices; those that devices report are shown',
  },
  {
    operations: [
      ...['clientInfo', 'clientJoin', 'client_latency', 'clientSessions', 'discovered-raw-rssi'],
      ...['guestAuthorization', 'location', 'location_asset', 'location_centrak', 'location_client', 'location_sdk'],
      ...['location_unclient', 'nacAccounting', 'nac_events', 'occupancyAlerts', 'sdkclientScanData'],
      ...['site_sle', 'zone'],
    ],
    isPlanned: false,
    why: 'Topics of things that Signalbox does not observe. Webhooks may subscribe to them, and get no such messages',
  },
]

/** Operations of the release after the contract's that are not served. No comparison finds them. */
export const laterAbsences: readonly Absence[] = [
  {
    operations: ['listOrgAsyncClaims', 'createOrgAsyncClaim', 'getOrgAsyncClaimStatus'],
    isPlanned: false,
    why: 'They claim a whole order; Signalbox has no orders, and `addOrgInventory` is complete when it answers',
  },
  {
    operations: ['exportOrgSsrIdTokens'],
    isPlanned: false,
    why: 'Routers register by a code of their organization and have no identity tokens',
  },
  {
    operations: ['setSiteDevicesGbpTag'],
    isPlanned: false,
    why: 'Signalbox sends no configuration to devices, and the tag of a client is a part of it',
  },
  {
    operations: ['startSiteMapsAutoGeofence', 'startSiteMapAutoGeofence', 'acceptSiteApLocalizationData'],
    isPlanned: false,
    why: 'Signalbox does not locate devices',
  },
]
