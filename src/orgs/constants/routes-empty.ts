import { Type } from 'typebox'
import { self } from '../../http/at.ts'
import { EventTypesReply } from '../../http/event-types.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'

const Text = Type.Optional(Type.String())

/** Source: contract, `nac_client_event`. */
const NacEvent = named(
  'NacEvent',
  Type.Object({
    ap: Text,
    bssid: Text,
    cert_cn: Text,
    cert_expiry: Type.Optional(Type.Integer()),
    cert_issuer: Text,
    cert_san_upn: Type.Optional(Type.Array(Type.String())),
    cert_serial: Text,
    cert_subject: Text,
    eap_type: Text,
    nas_vendor: Text,
    org_id: Type.Optional(Uuid),
    random_mac: Type.Optional(Type.Boolean()),
    site_id: Type.Optional(Uuid),
    ssid: Text,
    timestamp: Type.Optional(Timestamp),
    type: Text,
    username: Text,
    wcid: Type.Optional(Uuid),
  }),
)

/** Source: contract, `const_other_device_model`. */
const OtherDeviceModel = named(
  'OtherDeviceModel',
  Type.Object({ _vendor_model_id: Text, display: Text, model: Text, type: Text, vendor: Text }),
)

/**
 * Definitions of things that Signalbox does not have: it records no events of wireless clients, decides about no access
 * to networks, and connects no devices of third parties. Source: contract, Constants Events and Constants Models.
 */
export const emptyConstOperations: Operation[] = [
  operation({
    id: 'listClientEventsDefinitions',
    summary: 'List the types of events of clients',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/client_events'),
    reply: EventTypesReply,
    run: () => [],
  }),
  operation({
    id: 'listNacEventsDefinitions',
    summary: 'List the types of events of network access control',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/nac_events'),
    reply: Type.Array(NacEvent),
    run: () => [],
  }),
  operation({
    id: 'listOtherDeviceEventsDefinitions',
    summary: 'List the types of events of third-party devices',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/otherdevice_events'),
    reply: EventTypesReply,
    run: () => [],
  }),
  operation({
    id: 'listSupportedOtherDeviceModels',
    summary: 'List the models of third-party devices',
    method: 'GET',
    tag: 'Constants Models',
    at: self('/const/otherdevice_models'),
    reply: Type.Array(OtherDeviceModel),
    run: () => [],
  }),
].flat()
