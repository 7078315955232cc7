import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { OperatorApi } from '../../api/operator.ts'
import { macText } from '../../devices/device.ts'
import { ConfirmButton, FieldRefusal } from '../../display/forms/confirm-button.tsx'
import type { Effect } from '../../display/forms/effect.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { ViewerTime } from '../../display/times/time.tsx'
import type { RevokedCertificate } from './answers.ts'
import { OperatorList, useOperatorList } from './operator-list.tsx'

const PATH = '/revoked-certificates'

/** Certificates with which devices can't connect any more. */
export function CertificatePanel({ operator }: { readonly operator: OperatorApi }) {
  const list = useOperatorList<RevokedCertificate>(operator, PATH)
  return (
    <OperatorList
      title="Revoked device certificates"
      list={list}
      actions={<RevokeButton operator={operator} />}
      empty={
        <EmptyState title="No certificate is revoked">Revoke those of a device that was stolen or sold.</EmptyState>
      }
    >
      {({ mac, serial, revoked_time: revokedAt }) => (
        <li key={`${mac} ${serial ?? ''}`} className="image-line">
          <div>
            <p className="image-uses mono">{macText(mac)}</p>
            {serial === undefined ? <p>All that were issued until then</p> : <p className="mono">{serial}</p>}
          </div>
          <ViewerTime at={revokedAt} />
        </li>
      )}
    </OperatorList>
  )
}

function RevokeButton({ operator }: { readonly operator: OperatorApi }) {
  const queries = useQueryClient()
  const [mac, setMac] = useState('')
  const [serial, setSerial] = useState('')
  return (
    <ConfirmButton
      action="Revoke certificates"
      isDestructive
      effect={effectOf(mac.trim(), serial.trim())}
      fieldNames={['mac', 'serial']}
      fields={
        <>
          <FieldRefusal name="mac">
            {(error) => (
              <TextInput
                label="MAC address of the device"
                value={mac}
                error={error}
                onChange={({ currentTarget: { value } }) => setMac(value)}
              />
            )}
          </FieldRefusal>
          <FieldRefusal name="serial">
            {(error) => (
              <TextInput
                label="Serial number"
                description="Of one certificate, hexadecimal. Empty: all that were issued until now"
                value={serial}
                error={error}
                onChange={({ currentTarget: { value } }) => setSerial(value)}
              />
            )}
          </FieldRefusal>
        </>
      }
      run={async () => {
        const body = { mac: mac.trim(), ...(serial.trim() !== '' && { serial: serial.trim() }) }
        await operator.post('/device-certificates/revoke', body)
        setMac('')
        setSerial('')
        await queries.invalidateQueries({ queryKey: ['operator list', PATH] })
      }}
    />
  )
}

function effectOf(mac: string, serial: string): Effect {
  const shared = { name: mac === '' ? undefined : mac, isFinal: true }
  if (serial === '')
    return {
      ...shared,
      does: 'Revokes all certificates issued until now of',
      counts: [{ count: 1, one: 'device' }],
      consequences: ['It is disconnected at once, and connects again only with a certificate that is issued later.'],
    }
  return {
    ...shared,
    does: 'Revokes',
    counts: [{ count: 1, one: 'certificate' }],
    consequences: ['If the device uses it, it is disconnected at once; its other certificates stay valid.'],
  }
}
