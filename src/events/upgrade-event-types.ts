/** The events of an upgrade, with their names in the topic `upgrade-events`. */
export const upgradeEventTypes = {
  UPGRADE_CREATED: 'A person has started the upgrade',
  UPGRADE_SITE_STARTED: 'The upgrade has begun at a site',
  UPGRADE_PHASE_OPENED: 'The next phase has opened, at all sites or at one',
  UPGRADE_HELD: 'The upgrade waits at a gate, or for an approval, a check or a time',
  UPGRADE_PAUSED: 'A person has paused the upgrade',
  UPGRADE_RESUMED: 'A person has resumed the upgrade',
  UPGRADE_APPROVED: 'A person has approved a phase',
  UPGRADE_CHECK_PASSED: 'The check of a phase has passed',
  UPGRADE_WAIT_ENDED: 'The time has passed for which the next phase waited',
  UPGRADE_RETRIED: 'A person has retried failed devices',
  UPGRADE_DEVICES_TAKEN: 'Another upgrade has taken devices over',
  UPGRADE_DEVICES_EXCLUDED: 'A person has excluded devices',
  UPGRADE_DEVICES_JOINED: 'Further devices have joined the upgrade',
  UPGRADE_CANCELLED: 'A person has cancelled the upgrade, at all sites or at one',
  UPGRADE_END_REACHED: 'The upgrade has stopped at its end time',
  UPGRADE_STOPPED: 'Too many failures have stopped the upgrade, at all sites or at one',
  UPGRADE_SITE_ENDED: 'The upgrade has ended at a site',
  UPGRADE_ENDED: 'The upgrade has ended at all sites',
  UPGRADE_DEVICE_STARTED: 'A device was commanded for the first time, or for the first time since it was retried',
  UPGRADE_DEVICE_REBOOTING: 'A device installs the image or reboots',
  UPGRADE_DEVICE_RETRYING: 'An attempt of a device has failed, and another one follows',
  UPGRADE_DEVICE_OFFLINE: 'A device is offline; it is upgraded when it is back',
  UPGRADE_DEVICE_UPGRADED: 'A device has got what was wanted',
  UPGRADE_DEVICE_RESTORING: 'The upgrade of a device has failed, and the device returns to its backup version',
  UPGRADE_DEVICE_FAILED: 'A device has failed',
  UPGRADE_DEVICE_SKIPPED: 'A device runs the version already',
  UPGRADE_DEVICE_CANCELLED:
    'The upgrade was stopped, lost a device to another one or excluded it, before it changed the device',
} as const satisfies Readonly<Record<string, string>>

export type UpgradeEventType = keyof typeof upgradeEventTypes
