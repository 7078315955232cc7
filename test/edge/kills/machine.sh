#!/bin/sh
# The commands that an operator configures, for a machine that is a folder: FOLDER SUBJECT WHAT [ARGUMENT...]
cd "$1" || exit 1
subject=$2
what=$3
shift 3
mkdir "lock $subject" 2>/dev/null || echo "overlap $subject" >>notes
echo "begin $what" >>notes
while [ -e hold ]; do sleep 0.02; done
if [ -e pause ]; then sleep "$(cat pause)"; fi
case $what in
install)
  sha256sum <"$1" | cut -c 1-64 >package.new && mv package.new package
  printf %s "$2" >version.new && mv version.new version
  ;;
distro) printf %s "$1" >distro.new && mv distro.new distro ;;
reboot) od -An -N8 -tx8 /dev/urandom | tr -d ' \n' >boot.new && mv boot.new boot ;;
configure) cat >configuration.new && mv configuration.new configuration ;;
support) cat archive ;;
esac
echo "end $what" >>notes
rmdir "lock $subject"
