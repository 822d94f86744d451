#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the packages of this checkout into a folder; `./start package` calls it for each of its steps.
# usage: build.sh source|deb|rpm|srpm OUTPUT_FOLDER WORK_FOLDER
# `source` must come first: the others are built from its archive, without git, as anybody else would build them.
set -euo pipefail
top=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
what=$1
mkdir -p "$2" "$3"
out=$(cd "$2" && pwd) work=$(cd "$3" && pwd)
cd "$top"

version=$(sed -nE 's/^project\(healer VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=healer-$version
# The time of the last change, so that builds are reproducible.
SOURCE_DATE_EPOCH=$(date -u -d "$(sed -nE 's/^ -- .*>  (.*)/\1/p' packaging/debian/changelog | head -n 1)" +%s)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
# debhelper sets another HOME for the programs that it calls.
if command -v ccache >/dev/null; then
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_DIR
fi

# All files of the checkout, or those that git knows, if there is a repository.
files() {
  if [[ -e .git ]] && command -v git >/dev/null; then
    git -c safe.directory="$top" ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' file; do
      if [[ -e $file && ! -d $file ]]; then printf '%s\0' "$file"; fi
    done
  else
    find . \( -name .git -o -path ./.cache -o -name '__pycache__' -o -path './build*' -o -path ./packages -o -path ./debian \) -prune -o -type f -printf '%P\0'
  fi
}

unpack() {
  rm -rf "${1:?}/$name"
  mkdir -p "$1"
  tar -x -f "$out/$name.tar.gz" -C "$1"
}

case $what in
  source)
    # Packages of another version must not be left beside those of this one.
    rm -rf "$out"/healer-*.tar.gz "$out"/healer_*.changes "$out"/healer_*.buildinfo "$out/before" "$work"/healer-* "$work/source"
    mkdir -p "$work/source/$name"
    files | tar -c --null -T - | tar -x -C "$work/source/$name"
    ln -s packaging/debian "$work/source/$name/debian"
    tar -c --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
      -C "$work/source" "$name" | gzip -n -9 >"$out/$name.tar.gz.new"
    mv "$out/$name.tar.gz.new" "$out/$name.tar.gz"
    rm -rf "$work/source"
    ;;
  deb)
    unpack "$work"
    cd "$work/$name"
    DEB_BUILD_OPTIONS="nocheck parallel=${HEALER_JOBS:-$(nproc)}" dpkg-buildpackage -b -us -uc
    rm -f "$out"/healer_*.deb "$out"/healer-dbgsym_*.deb
    mv "$work"/healer*_"$version"_*.deb "$work"/healer_"$version"_*.buildinfo "$work"/healer_"$version"_*.changes "$out"
    ;;
  rpm)
    rm -rf "$work/rpm"
    mkdir -p "$work/rpm/SOURCES" "$work/rpm/SPECS"
    cp "$out/$name.tar.gz" "$work/rpm/SOURCES"
    cp packaging/rpm/healer.spec "$work/rpm/SPECS"
    rpmbuild --define "_topdir $work/rpm" --define "_smp_mflags -j${HEALER_JOBS:-$(nproc)}" \
      --define "healer_werror ${HEALER_WERROR:-OFF}" --nodeps -bb "$work/rpm/SPECS/healer.spec"
    rm -f "$out"/healer-[0-9]*."$(uname -m)".rpm "$out"/healer-debug*.rpm
    mv "$work"/rpm/RPMS/*/*.rpm "$out"
    ;;
  srpm)  # what Fedora and its relatives build from: it names what they need for that
    rm -rf "$work/srpm"
    mkdir -p "$work/srpm/SOURCES" "$work/srpm/SPECS"
    cp "$out/$name.tar.gz" "$work/srpm/SOURCES"
    cp packaging/rpm/healer.spec "$work/srpm/SPECS"
    rpmbuild --define "_topdir $work/srpm" --define "healer_source 1" --nodeps -bs "$work/srpm/SPECS/healer.spec"
    rm -f "$out"/healer-[0-9]*.src.rpm
    mv "$work"/srpm/SRPMS/*.src.rpm "$out"
    ;;
  rpm-before)  # the same files as the release before: for tests of upgrades
    mkdir -p "$out/before"
    rm -rf "$work/before"
    mkdir -p "$work/before"
    for package in "$out"/healer-"$version"-1*."$(uname -m)".rpm "$out"/healer-debuginfo-"$version"-1*.rpm; do
      rpm2archive -n <"$package" | tar -x -C "$work/before"
    done
    echo '# of the version before' >>"$work/before/etc/healer/rules.d/00-settings.rules"
    awk -v root="$work/before" '
      /^%prep/ { print "%prep\n%install\ncp -a " root "/. %{buildroot}"; skipped = 1 }
      /^# Members of the group/ { skipped = 0 }
      !skipped { sub(/^%license LICENSE/, "%license /usr/share/licenses/*"); print }' \
      packaging/rpm/healer.spec >"$work/rpm/SPECS/before.spec"
    rpmbuild --define "_topdir $work/rpm" --define "healer_release 0" --nodeps -bb "$work/rpm/SPECS/before.spec"
    mv "$work"/rpm/RPMS/*/healer-"$version"-0*.rpm "$out/before"
    ;;
  *)
    echo "build.sh: $what is neither source, deb, rpm nor srpm" >&2
    exit 2
    ;;
esac
