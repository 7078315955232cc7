/** A refusal of an operation whose objects are not read back, so that no round trip finds it. */
export interface FurtherRefusal {
  readonly what: string
  /** A part of the answer's detail. It occurs in the file. */
  readonly words: string
  readonly file: string
  readonly why: string
}

export const furtherRefusals: readonly FurtherRefusal[] = [
  {
    what: '`PUT /orgs/{org_id}/inventory` with the `op` `downgrade_to_jsi`, for each device; `upgrade_to_mist` changes nothing',
    words: 'there is no other service to manage it',
    file: 'src/mxedges/inventory/routes.ts',
    why: 'Signalbox manages every device of the inventory itself',
  },
  {
    what: '`POST /orgs/{org_id}/inventory/replace` with `tunterm_port_config`',
    words: 'edge appliances are not replaced here',
    file: 'src/devices/inventory/wire-replace.ts',
    why: 'An edge appliance is replaced by a new registration',
  },
  {
    what: '`POST /orgs/{org_id}/inventory/reevaluate_auto_assignment`',
    words: "Devices can't be assigned by rules",
    file: 'src/devices/inventory/routes.ts',
    why: 'There are no rules that assign devices',
  },
  {
    what: '`PUT /installer/orgs/{org_id}/sites/{site_name}` with an `rftemplate_name`',
    words: 'there are no RF templates',
    file: 'src/installer/wire-sites.ts',
    why: 'It would not be applied',
  },
  {
    what: '`PUT /installer/orgs/{org_id}/devices/{device_mac}` with a `deviceprofile_name`',
    words: 'there are no device profiles',
    file: 'src/installer/wire.ts',
    why: 'It would not be applied',
  },
  {
    what: 'a form with another part than the operation has, such as the picture of a device with `csv`',
    words: 'is not a part of this form',
    file: 'src/http/bodies/forms.ts',
    why: 'It would be dropped',
  },
  {
    what: '`"-name": ""` and `"-privileges": ""` in updates of admins, invitations, SSO roles and tokens of organizations, and `"-field": ""` of what an action by `PUT` is about',
    words: "can't be unset",
    file: 'src/http/validate.ts',
    why: 'Without it the record or the action means nothing',
  },
  {
    what: '`ping` of a device with `node`',
    words: "the device can't ping from node",
    file: 'src/devices/commands/wire.ts',
    why: 'No device offers to ping from one node; the answer would be of another',
  },
  {
    what: '`locate` of a device with another `mac` than its own',
    words: 'no part of it can blink alone',
    file: 'src/devices/commands/locate-device.ts',
    why: 'Another part would blink than the one that was meant',
  },
  {
    what: '`support` of a device with another `info` than `full`',
    words: 'is not possible: the device collects everything',
    file: 'src/devices/support/wire.ts',
    why: 'Devices collect all they have, which may be more than was meant to leave them',
  },
  {
    what: '`support` of a device with `node`',
    words: "the device can't collect from one node alone",
    file: 'src/devices/support/wire.ts',
    why: 'Devices collect all they have, which may be more than was meant to leave them',
  },
  {
    what: '`support` of a device where the device CA signed the certificate of the HTTPS server',
    words: "The device can't upload to this server",
    file: 'src/devices/support/request-support.ts',
    why: 'Devices trust only public CAs when they upload, so the files would never arrive',
  },
  {
    what: '`support` of an edge appliance whose hooks have none',
    words: "The agent of the edge appliance can't collect support files",
    file: 'src/mxedges/commands/find-refusal.ts',
    why: 'What the files contain, and how they are collected, depends on the operator',
  },
  {
    what: 'settings of an organization with addresses in `api_policy.src_ips`',
    words: "can't take effect yet",
    file: 'src/orgs/org-settings/setting.ts',
    why: 'A protection that protects nothing must not look like one',
  },
  {
    what: 'import of maps with the `vendor_name` `ibwave`',
    words: "projects of ibwave can't be read",
    file: 'src/placement/wire-import.ts',
    why: 'The format is not public',
  },
  {
    what: 'import of maps with `auto_deviceprofile_assignment`',
    words: 'there are no device profiles',
    file: 'src/placement/wire-import.ts',
    why: 'They would not be assigned',
  },
  {
    what: 'import of wayfinding data with the `vendor_name` `jibestream`',
    words: "maps of jibestream can't be fetched",
    file: 'src/maps/wire.ts',
    why: "The server would have to download them with the customer's credentials",
  },
  {
    what: 'upgrades with `snapshot` where no device can take one',
    words: 'can take a recovery snapshot',
    file: 'src/upgrades/planning/plan-snapshots.ts',
    why: 'The upgrade would run without the snapshot; where some devices can, the others are noted in the record',
  },
  {
    what: '`POST /sites/{site_id}/devices/upgrade` and the upgrade of a single device without `reboot: true`, for a switch or a gateway',
    words: 'reboot to install firmware',
    file: 'src/upgrades/planning/plan-org-upgrade.ts',
    why: 'The contract reboots no device without `reboot`, and no switch or gateway installs firmware without a reboot',
  },
  {
    what: '`POST /self/apitokens` and `POST /self/oauth/{provider}` by an API token alone: 403',
    words: 'needs a recent proof of who you are',
    file: 'src/accounts/self/prove-recently.ts',
    why: 'Whoever copies a token could otherwise create access that outlives it; the `password` in the body is a proof, too',
  },
  {
    what: '`POST /self/two_factor/verify`, `POST /self/update` and `DELETE /self` by an API token alone: 403',
    words: 'This needs the password',
    file: 'src/accounts/self/prove-password.ts',
    why: 'Whoever copies a token could otherwise take over the account; the `password` in the body is the proof',
  },
  {
    what: '`search_after` in a search',
    words: 'is no parameter of this operation',
    file: 'src/http/validate.ts',
    why: 'Newer clients have it. `next` of an answer contains all that leads to the next page, so no client gets a cursor to send',
  },
]
