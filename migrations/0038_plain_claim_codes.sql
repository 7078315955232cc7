-- Clients recognize claim codes in upper case without dashes, so codes are stored and answered in this form.
update device_registry set claim_code = upper(replace(claim_code, '-', ''))
where claim_code <> upper(replace(claim_code, '-', ''));
update device set claim_code = upper(replace(claim_code, '-', ''))
where claim_code <> upper(replace(claim_code, '-', ''));
update mxedge_registry set claim_code = upper(replace(claim_code, '-', ''))
where claim_code <> upper(replace(claim_code, '-', ''));
update mxedge set registration_code = upper(replace(registration_code, '-', ''))
where registration_code <> upper(replace(registration_code, '-', ''));
